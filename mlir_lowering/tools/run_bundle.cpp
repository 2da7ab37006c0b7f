//===- run_bundle.cpp - Bundles on files of numpy's -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "run_bundle.h"

#include "ltc/aot.h"
#include "npy.h"

#include <cstdio>
#include <iostream>
#include <memory>

namespace ltc::tools {

namespace {

using Model = std::unique_ptr<ltc_aot_model, void (*)(ltc_aot_model *)>;

int fail(const std::string &why) {
  std::cerr << why << '\n';
  return 1;
}

Model open(const std::string &path) {
  return {ltc_aot_open(path.c_str()), ltc_aot_close};
}

std::string limitsOf(const ltc_aot_dim &dim) {
  std::string text = std::to_string(dim.least);
  if (dim.least != dim.most)
    text += ".." + (dim.most == INT64_MAX ? "" : std::to_string(dim.most));
  return text;
}

std::string sizesOf(const ltc_aot_value &value) {
  std::string text = std::string(name(DType(value.dtype))) + "[";
  for (uint32_t d = 0; d < value.rank; ++d)
    text += (d ? ", " : "") + limitsOf(value.dims[d]);
  return text + "]" + (value.is_integer ? ", " + limitsOf(*value.dims) : "");
}

std::string outputPath(const std::string &out, uint32_t number,
                       uint32_t count) {
  if (count == 1)
    return out;
  size_t dot = out.rfind(".npy");
  return out.substr(0, dot) + std::to_string(number) +
         (dot == out.npos ? "" : ".npy");
}

/// The inputs' files, as the entry takes them.
Status read(const ltc_aot_entry *entry, const std::vector<std::string> &paths,
            std::vector<Array> &arrays) {
  for (size_t i = 0; i < paths.size(); ++i) {
    Result<Array> array = readArray(paths[i]);
    if (!array)
      return array.takeError();
    const ltc_aot_value &value = *ltc_aot_input(entry, uint32_t(i));
    if (uint32_t(array->type.dtype) != value.dtype ||
        array->type.dims.size() != value.rank)
      return Error{ErrorCode::InvalidArgument,
                   Stage::Execute,
                   paths[i] + " is " + array->type.str() + ", and input " +
                       value.name + " is " + sizesOf(value),
                   "",
                   {},
                   ""};
    arrays.push_back(std::move(*array));
  }
  return {};
}

ltc_aot_tensor tensorOf(Array &array) {
  return {array.bytes.data(), array.bytes.size(), array.type.dims.data()};
}

} // namespace

int listBundle(const std::string &path) {
  Model model = open(path);
  if (!model)
    return fail(ltc_aot_error());
  std::printf("target %s\n", ltc_aot_target(model.get()));
  for (uint32_t e = 0; e < ltc_aot_entry_count(model.get()); ++e) {
    const ltc_aot_entry *entry = ltc_aot_entry_at(model.get(), e);
    std::printf("entry %s\n", ltc_aot_entry_name(entry));
    for (uint32_t i = 0; i < ltc_aot_input_count(entry); ++i) {
      const ltc_aot_value &value = *ltc_aot_input(entry, i);
      std::printf("  input %s: %s%s\n", value.name, sizesOf(value).c_str(),
                  value.is_written ? ", written" : "");
    }
    for (uint32_t i = 0; i < ltc_aot_output_count(entry); ++i)
      std::printf("  output %s: %s\n", ltc_aot_output(entry, i)->name,
                  sizesOf(*ltc_aot_output(entry, i)).c_str());
  }
  return 0;
}

int runBundle(const std::string &path, const std::string &wanted,
              const std::vector<std::string> &inputs, const std::string &out) {
  Model model = open(path);
  if (!model)
    return fail(ltc_aot_error());
  const ltc_aot_entry *entry = wanted.empty()
                                   ? ltc_aot_entry_at(model.get(), 0)
                                   : ltc_aot_find(model.get(), wanted.c_str());
  if (!entry)
    return fail(ltc_aot_error());
  if (inputs.size() != ltc_aot_input_count(entry))
    return fail("entry " + std::string(ltc_aot_entry_name(entry)) + " takes " +
                std::to_string(ltc_aot_input_count(entry)) +
                " inputs; --list says which");
  std::vector<Array> arrays, results;
  if (Status status = read(entry, inputs, arrays); !status)
    return fail(status.error().message);
  std::vector<ltc_aot_tensor> given, wants;
  for (Array &array : arrays)
    given.push_back(tensorOf(array));
  const uint32_t count = ltc_aot_output_count(entry);
  results.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const ltc_aot_value &value = *ltc_aot_output(entry, i);
    Array &result = results.emplace_back();
    result.type.dtype = DType(value.dtype);
    if (Status status =
            checkWritable(outputPath(out, i, count), DType(value.dtype));
        !status)
      return fail(status.error().message);
    result.type.dims.resize(value.rank);
    if (ltc_aot_output_sizes(entry, given.data(), i, result.type.dims.data()))
      return fail(ltc_aot_error());
    result.bytes.resize(result.type.bytes());
    wants.push_back(tensorOf(result));
  }
  if (ltc_aot_run(entry, given.data(), wants.data()))
    return fail(ltc_aot_error());
  for (uint32_t i = 0; i < count; ++i) {
    std::string to = outputPath(out, i, count);
    if (Status status = writeArray(to, results[i]); !status)
      return fail(status.error().message);
    std::printf("%s: %s\n", to.c_str(), results[i].type.str().c_str());
  }
  return 0;
}

} // namespace ltc::tools
