//===- tensor_cores.cpp - Products of matrices of a warp ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tensor_cores.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ltc::emulator {

/// A f16 as what it is.
static float fromHalf(uint32_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  float sign = bits >> 15 ? -1.0F : 1.0F;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(fraction | 1024), int(exponent) - 25);
}

static float numberIn(uint64_t word, uint32_t half, bool isBf16) {
  uint32_t bits = uint32_t(word) >> 16 * half & 0xffff;
  return isBf16 ? std::bit_cast<float>(bits << 16) : fromHalf(bits);
}

uint32_t matrixWord(const Lanes &lanes, uint32_t first, uint32_t lane,
                    bool transposed) {
  uint32_t word = 0;
  for (uint32_t half = 0; half < 2; ++half) {
    uint32_t row = lane / 4, column = lane % 4 * 2 + half;
    if (transposed)
      std::swap(row, column);
    const auto *from = reinterpret_cast<const char *>(lanes(first + row)[0]);
    uint16_t number = 0;
    std::memcpy(&number, from + 2 * size_t(column), 2);
    word |= uint32_t(number) << 16 * half;
  }
  return word;
}

void addProduct(const Lanes &lanes, uint32_t lane, bool isBf16,
                std::array<float, 4> &sums) {
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (uint32_t k = 0; k < 16; ++k) {
      // Four lanes have a row of the left factor, or a column of the right.
      uint32_t owner = k % 8 / 2, half = k % 2;
      uint64_t left = lanes(row % 8 * 4 + owner)[k / 8 * 2 + row / 8];
      uint64_t right = lanes(column * 4 + owner)[4 + k / 8];
      sums[i] += numberIn(left, half, isBf16) * numberIn(right, half, isBf16);
    }
  }
}

} // namespace ltc::emulator
