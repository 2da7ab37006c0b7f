//===- types.cpp - Element types and tensor types ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/types.h"

#include <array>
#include <cassert>

namespace ltc {

namespace {

enum class Kind : uint8_t { Bool, Integer, Float, Complex };

struct DTypeRow {
  std::string_view name;
  uint8_t bytes;
  Kind kind;
};

// In the order of DType.
constexpr std::array<DTypeRow, 18> rows = {{
    {"bool", 1, Kind::Bool},
    {"u8", 1, Kind::Integer},
    {"i8", 1, Kind::Integer},
    {"i16", 2, Kind::Integer},
    {"i32", 4, Kind::Integer},
    {"i64", 8, Kind::Integer},
    {"f16", 2, Kind::Float},
    {"bf16", 2, Kind::Float},
    {"f32", 4, Kind::Float},
    {"f64", 8, Kind::Float},
    {"c64", 8, Kind::Complex},
    {"c128", 16, Kind::Complex},
    {"u16", 2, Kind::Integer},
    {"u32", 4, Kind::Integer},
    {"u64", 8, Kind::Integer},
    {"f8e4m3fn", 1, Kind::Float},
    {"f8e5m2", 1, Kind::Float},
    {"c32", 4, Kind::Complex},
}};
static_assert(rows.size() == size_t(DType::C32) + 1);

const DTypeRow &row(DType dtype) { return rows[size_t(dtype)]; }

} // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name)
      return DType(i);
  return std::nullopt;
}

size_t byteSize(DType dtype) { return row(dtype).bytes; }
bool isFloat(DType dtype) { return row(dtype).kind == Kind::Float; }
bool isInteger(DType dtype) { return row(dtype).kind == Kind::Integer; }
bool isComplex(DType dtype) { return row(dtype).kind == Kind::Complex; }

int64_t TensorType::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims) {
    assert(!isSymbolic(dim) && "elements() of a symbolic type");
    count *= dim;
  }
  return count;
}

bool TensorType::isStatic() const {
  for (int64_t dim : dims)
    if (isSymbolic(dim))
      return false;
  return true;
}

std::string TensorType::str() const {
  std::string text(name(dtype));
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i)
      text += ", ";
    text += isSymbolic(dims[i]) ? "?" : std::to_string(dims[i]);
  }
  return text + ']';
}

std::string ValueType::str() const {
  return isScalar ? "scalar " + std::string(name(tensor.dtype)) : tensor.str();
}

} // namespace ltc
