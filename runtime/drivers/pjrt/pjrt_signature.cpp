//===- pjrt_signature.cpp - What @main takes and gives -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_signature.h"

#include <charconv>
#include <utility>

namespace ltc::pjrt {

namespace {

struct Element {
  std::string_view name;
  int32_t number; ///< PJRT_Buffer_Type
  size_t bytes;
};
constexpr Element kElements[] = {{"i1", 1, 1},
                                 {"i8", 2, 1},
                                 {"i16", 3, 2},
                                 {"i32", 4, 4},
                                 {"i64", 5, 8},
                                 {"ui8", 6, 1},
                                 {"ui16", 7, 2},
                                 {"ui32", 8, 4},
                                 {"ui64", 9, 8},
                                 {"f16", 10, 2},
                                 {"f32", 11, 4},
                                 {"f64", 12, 8},
                                 {"bf16", 13, 2},
                                 {"complex<f32>", 14, 8},
                                 {"complex<f64>", 15, 16}};

bool take(std::string_view &text, std::string_view what) {
  if (!text.starts_with(what))
    return false;
  text.remove_prefix(what.size());
  return true;
}

/// "tensor<2x3xf32>"
std::optional<TensorType> readType(std::string_view &text) {
  if (!take(text, "tensor<"))
    return std::nullopt;
  TensorType type;
  while (true) {
    int64_t size = 0;
    auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), size);
    if (failure != std::errc())
      break;
    text.remove_prefix(size_t(end - text.data()));
    if (!take(text, "x"))
      return std::nullopt;
    type.sizes.push_back(size);
  }
  for (const Element &element : kElements)
    if (text.starts_with(element.name) &&
        text.substr(element.name.size()).starts_with(">")) {
      text.remove_prefix(element.name.size() + 1);
      type.element = element.number;
      return type;
    }
  return std::nullopt;
}

/// "(A, B)", or one type alone.
bool readTypes(std::string_view &text, std::vector<TensorType> &types) {
  bool isList = take(text, "(");
  if (isList && take(text, ")"))
    return true;
  do {
    auto type = readType(text);
    if (!type)
      return false;
    types.push_back(std::move(*type));
  } while (isList && take(text, ", "));
  return !isList || take(text, ")");
}

} // namespace

size_t TensorType::bytes() const {
  size_t all = 0;
  for (const Element &known : kElements)
    if (known.number == element)
      all = known.bytes;
  for (int64_t size : sizes)
    all *= size_t(size);
  return all;
}

std::optional<Signature> readSignature(std::string_view module) {
  constexpr std::string_view kName = "sym_name = \"main\"";
  constexpr std::string_view kType = "function_type = ";
  // Both stand in the braces of one "func.func".
  size_t name = module.find(kName);
  size_t open = module.rfind("<{", name);
  if (name == module.npos || open == module.npos)
    return std::nullopt;
  size_t place = module.find(kType, open);
  if (place == module.npos)
    return std::nullopt;
  std::string_view text = module.substr(place + kType.size());
  Signature signature;
  if (readTypes(text, signature.inputs) && take(text, " -> ") &&
      readTypes(text, signature.results))
    return signature;
  return std::nullopt;
}

} // namespace ltc::pjrt
