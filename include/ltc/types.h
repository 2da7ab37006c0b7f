//===- types.h - Element types and tensor types -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types that every stage agrees on. Plain values: copy them freely, use
// them from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ltc {

/// Marks a class or function that other libraries of the project link to.
#define LTC_API __attribute__((visibility("default")))

/// Element types. The numbers are stable: they are hashed, stored in artifacts
/// and cross the C ABI (`ltc_dtype` in plugin.h); new ones go last.
enum class DType : uint8_t {
  Bool, ///< one byte, 0 or 1
  U8,
  I8,
  I16,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  C64,  ///< two F32: real, imaginary
  C128, ///< two F64
  U16,
  U32,
  U64,
  F8E4M3FN,
  F8E5M2,
  C32, ///< two F16
};

/// Short lower-case name: "bool", "u8", "i64", "bf16", "f32", "c64", …
LTC_API std::string_view name(DType dtype);
LTC_API std::optional<DType> parseDType(std::string_view name);
/// Bytes of one element.
LTC_API size_t byteSize(DType dtype);
LTC_API bool isFloat(DType dtype);
/// True for every integer type, not for Bool.
LTC_API bool isInteger(DType dtype);
LTC_API bool isComplex(DType dtype);

/// A size that is known at run time only stands, where a size stands, as a
/// number that says which formula of its graph gives it (Graph::formulas).
/// These functions alone know which numbers: 2^20 of them that are no size and
/// that no program has a use for.
inline constexpr int64_t kFirstSymbolic = -0x6c74'6300'0000'0000;
constexpr bool isSymbolic(int64_t size) {
  return size >= kFirstSymbolic && size < kFirstSymbolic + (1 << 20);
}
/// The number of the formula; `size` must be symbolic.
constexpr uint32_t formulaNumber(int64_t size) {
  return uint32_t(size - kFirstSymbolic);
}
constexpr int64_t symbolicSize(uint32_t formulaNumber) {
  return kFirstSymbolic + formulaNumber;
}

/// A dense row-major tensor. The rank is always known.
struct TensorType {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;

  /// Product of the dimensions; none may be symbolic.
  LTC_API int64_t elements() const;
  /// Bytes of the dense tensor; no dimension may be symbolic.
  size_t bytes() const { return size_t(elements()) * byteSize(dtype); }
  LTC_API bool isStatic() const;
  /// "f32[8, 512]"; a symbolic dimension prints as "?", since only its graph
  /// knows more.
  LTC_API std::string str() const;
  bool operator==(const TensorType &) const = default;
};

/// What a graph value is: a tensor, or a host scalar (F64, I64 or Bool) that
/// stays a scalar all the way into the kernels.
struct ValueType {
  TensorType tensor; ///< for a scalar: its dtype, and no dims
  bool isScalar = false;

  static ValueType scalar(DType dtype) { return {{dtype, {}}, true}; }
  /// "f32[8, 512]" for a tensor, "scalar f64" for a scalar.
  LTC_API std::string str() const;
  bool operator==(const ValueType &) const = default;
};

} // namespace ltc
