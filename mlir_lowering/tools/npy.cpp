//===- npy.cpp - Arrays in files of numpy's ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "npy.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

namespace ltc::tools {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

struct Spelling {
  DType dtype;
  std::string_view text;
};
constexpr Spelling kSpellings[] = {
    {DType::Bool, "|b1"}, {DType::U8, "|u1"},   {DType::I8, "|i1"},
    {DType::I16, "<i2"},  {DType::I32, "<i4"},  {DType::I64, "<i8"},
    {DType::U16, "<u2"},  {DType::U32, "<u4"},  {DType::U64, "<u8"},
    {DType::F16, "<f2"},  {DType::F32, "<f4"},  {DType::F64, "<f8"},
    {DType::C64, "<c8"},  {DType::C128, "<c16"}};

/// How numpy writes it, or nothing.
std::string_view spellingOf(DType dtype) {
  for (const Spelling &spelling : kSpellings)
    if (spelling.dtype == dtype)
      return spelling.text;
  return {};
}

Error failed(const std::string &path, const std::string &why) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          path + ": " + why,
          "",
          {},
          ""};
}

/// Its type from the dictionary in the header.
Result<TensorType> readType(const std::string &path,
                            const std::string &header) {
  static const std::regex whole(
      R"(\s*\{\s*'descr':\s*'([^']*)',\s*'fortran_order':\s*(\w+),)"
      R"(\s*'shape':\s*\(([\d,\s]*)\)\s*,?\s*\}\s*)");
  std::smatch found;
  if (!std::regex_match(header, found, whole))
    return failed(path, "it is no array of numbers");
  if (found[2] != "False")
    return failed(path, "it is column-major; save numpy.ascontiguousarray()");
  TensorType type;
  bool isKnown = false;
  for (const Spelling &spelling : kSpellings)
    if (found[1].str() == spelling.text) {
      type.dtype = spelling.dtype;
      isKnown = true;
    }
  if (!isKnown)
    return failed(path, "no tensor has the type " + found[1].str());
  static const std::regex number(R"(\d{1,18})");
  std::string shape = found[3];
  for (std::sregex_iterator dim(shape.begin(), shape.end(), number), end;
       dim != end; ++dim)
    type.dims.push_back(std::stoll(dim->str()));
  return type;
}

} // namespace

Result<Array> readArray(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return failed(path, "it cannot be read");
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  constexpr size_t fixed = kMagic.size() + 2;
  if (bytes.size() < fixed + 4 || bytes.compare(0, kMagic.size(), kMagic) != 0)
    return failed(path, "it is no .npy file");
  bool isShort = bytes[kMagic.size()] == 1;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + fixed, isShort ? 2 : 4);
  size_t begin = fixed + (isShort ? 2 : 4);
  if (length > bytes.size() - begin)
    return failed(path, "it is cut short");
  Result<TensorType> type = readType(path, bytes.substr(begin, length));
  if (!type)
    return type.takeError();
  uint64_t wanted = byteSize(type->dtype);
  for (int64_t dim : type->dims)
    if (__builtin_mul_overflow(wanted, uint64_t(dim), &wanted))
      return failed(path, "it is too large");
  if (bytes.size() - begin - length != wanted)
    return failed(path, "it has not the length that its header says");
  return Array{std::move(*type), bytes.substr(begin + length)};
}

Status checkWritable(const std::string &path, DType dtype) {
  if (!spellingOf(dtype).empty())
    return {};
  return failed(path, "numpy has no type for " + std::string(name(dtype)) +
                          "; have the program convert it");
}

Status writeArray(const std::string &path, const Array &array) {
  if (Status status = checkWritable(path, array.type.dtype); !status)
    return status;
  std::string header = "{'descr': '";
  header += spellingOf(array.type.dtype);
  header += "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : array.type.dims)
    header += std::to_string(dim) + ",";
  header += "), }";
  size_t before = kMagic.size() + 2 + 2;
  header.resize((before + header.size()) / kAlignment * kAlignment +
                    kAlignment - before,
                ' ');
  header.back() = '\n';
  auto length = uint16_t(header.size());
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\1' << '\0';
  file.write(reinterpret_cast<const char *>(&length), sizeof(length));
  file << header << array.bytes;
  file.close();
  return file ? Status() : failed(path, "it cannot be written");
}

} // namespace ltc::tools
