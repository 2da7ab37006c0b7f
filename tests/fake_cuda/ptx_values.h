//===- ptx_values.h - Values in the registers of a thread -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ptx.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fake_cuda {

/// A number of 16 bits as a double: what it is computed to is rounded once.
template <int exponentBits, int fractionBits> struct Short {
  double value = 0;

  static Short fromBits(uint16_t bits) {
    int exponent = (bits >> fractionBits) & ((1 << exponentBits) - 1);
    int fraction = bits & ((1 << fractionBits) - 1);
    double magnitude =
        exponent == (1 << exponentBits) - 1
            ? (fraction ? double(NAN) : double(INFINITY))
            : std::ldexp(exponent ? (1 << fractionBits) + fraction : fraction,
                         std::max(exponent, 1) - bias - fractionBits);
    return {bits & 0x8000 ? -magnitude : magnitude};
  }

  /// To the nearest, ties to even.
  uint16_t bits() const {
    constexpr auto infinity =
        uint16_t(((1 << exponentBits) - 1) << fractionBits);
    auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value))
      return 0x7fff;
    double magnitude = std::fabs(value);
    if (magnitude == 0)
      return sign;
    if (std::isinf(magnitude) || std::ilogb(magnitude) > bias)
      return sign | infinity;
    int exponent = std::max(std::ilogb(magnitude), 1 - bias);
    auto units = uint32_t(
        std::nearbyint(std::ldexp(magnitude, fractionBits - exponent)));
    uint32_t all = units + (uint32_t(exponent + bias - 1) << fractionBits);
    return sign | uint16_t(std::min<uint32_t>(all, infinity));
  }

private:
  static constexpr int bias = (1 << (exponentBits - 1)) - 1;
};

using Half = Short<5, 10>;
using Brain = Short<8, 7>;
template <typename T>
constexpr bool isShort = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

template <typename T> T get(uint64_t bits) {
  if constexpr (isShort<T>)
    return T::fromBits(uint16_t(bits));
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(uint32_t(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, bool>)
    return bits & 1;
  else
    return T(bits);
}

template <typename T> uint64_t put(T value) {
  if constexpr (isShort<T>)
    return value.bits();
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(value);
  else
    return uint64_t(value);
}

template <typename T>
constexpr bool isReal = std::is_floating_point_v<T> || isShort<T>;

/// Calls `visit` with a value of the type of that name, such as f32; false if
/// there is none.
template <typename Visit> bool withType(std::string_view name, Visit visit) {
  auto is = [&](std::string_view one) { return name == one; };
  if (is("f32"))
    visit(float());
  else if (is("f64"))
    visit(double());
  else if (is("f16"))
    visit(Half());
  else if (is("bf16"))
    visit(Brain());
  else if (is("s8"))
    visit(int8_t());
  else if (is("s16"))
    visit(int16_t());
  else if (is("s32"))
    visit(int32_t());
  else if (is("s64"))
    visit(int64_t());
  else if (is("u8") || is("b8"))
    visit(uint8_t());
  else if (is("u16") || is("b16"))
    visit(uint16_t());
  else if (is("u32") || is("b32"))
    visit(uint32_t());
  else if (is("u64") || is("b64"))
    visit(uint64_t());
  else if (is("pred"))
    visit(bool());
  else
    return false;
  return true;
}

} // namespace fake_cuda
