//===- builtins.cpp - Half-precision conversions for generated code -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CPU without the instruction calls these by the names of compiler-rt, which
// a user's machine need not have. A half travels in the low 16 bits of a vector
// register: declared as float here, the same place whatever compiles this file.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <bit>
#include <cmath>

namespace ltc::cpu {

namespace {

float inRegister(uint16_t half) { return std::bit_cast<float>(uint32_t(half)); }

/// Rounds a double to the nearest half of that format, ties to even.
uint16_t roundToHalf(double value, int exponentBits, int fractionBits) {
  auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  auto infinity = uint16_t(((1 << exponentBits) - 1) << fractionBits);
  if (std::isnan(value))
    return sign | infinity | uint16_t(1 << (fractionBits - 1));
  double magnitude = std::fabs(value);
  int smallest = 2 - (1 << (exponentBits - 1)); // of a normal number
  int exponent = std::isinf(magnitude)
                     ? 1 << exponentBits
                     : std::max(std::ilogb(magnitude), smallest);
  if (magnitude == 0)
    return sign;
  if (exponent > -smallest + 1)
    return sign | infinity;
  // In units of the last place; nearbyint rounds ties to even. A carry out of
  // the fraction lands in the exponent, where it belongs.
  auto units =
      uint32_t(std::nearbyint(std::ldexp(magnitude, fractionBits - exponent)));
  uint32_t bits = units + (uint32_t(exponent - smallest) << fractionBits);
  return sign | uint16_t(std::min<uint32_t>(bits, infinity));
}

double fromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 31
                         ? (fraction ? NAN : INFINITY)
                         : std::ldexp(exponent ? 1024 + fraction : fraction,
                                      std::max(exponent, 1) - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

float truncateToF16(float x) { return inRegister(roundToHalf(x, 5, 10)); }
float truncateDoubleToF16(double x) {
  return inRegister(roundToHalf(x, 5, 10));
}
float truncateToBF16(float x) { return inRegister(roundToHalf(x, 8, 7)); }
float truncateDoubleToBF16(double x) {
  return inRegister(roundToHalf(x, 8, 7));
}
float extendF16(float x) {
  return float(fromHalf(uint16_t(std::bit_cast<uint32_t>(x))));
}

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

void *findBuiltin(std::string_view name) {
  if (name == "__truncsfhf2")
    return address(truncateToF16);
  if (name == "__truncdfhf2")
    return address(truncateDoubleToF16);
  if (name == "__truncsfbf2")
    return address(truncateToBF16);
  if (name == "__truncdfbf2")
    return address(truncateDoubleToBF16);
  if (name == "__extendhfsf2")
    return address(extendF16);
  return nullptr;
}

} // namespace ltc::cpu
