//===- random/philox.h - Numbers by their place -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox2x32-10 (Salmon et al., SC 2011), bit for bit as the compiler's rows
// have it (mlir_lowering/ops/scalar_memory.cpp): a graph draws the same numbers
// compiled and called op by op.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace ltc::kernels {

/// Two words for each seed and number of an element.
inline std::array<uint32_t, 2> philox(uint64_t seed, uint64_t counter) {
  auto x = uint32_t(counter),
       y = uint32_t(counter >> 32) ^ uint32_t(seed >> 32);
  auto key = uint32_t(seed);
  for (int round = 0; round < 10; ++round) {
    uint64_t product = uint64_t(x) * 0xD256D193;
    x = uint32_t(product >> 32) ^ y ^ key;
    y = uint32_t(product);
    key += 0x9E3779B9;
  }
  return {x, y};
}

inline float unitFloat(uint32_t word) { return float(word >> 8) * 0x1p-24f; }
inline double unitDouble(std::array<uint32_t, 2> words) {
  return double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
}

/// In [0, 1); a float has the first word's bits alone.
template <typename T> T uniform(uint64_t seed, uint64_t counter);
template <> inline float uniform(uint64_t seed, uint64_t counter) {
  return unitFloat(philox(seed, counter)[0]);
}
template <> inline double uniform(uint64_t seed, uint64_t counter) {
  return unitDouble(philox(seed, counter));
}

/// Two independent ones.
template <typename T>
std::array<T, 2> uniformPair(uint64_t seed, uint64_t counter);
template <>
inline std::array<float, 2> uniformPair(uint64_t seed, uint64_t counter) {
  auto [first, second] = philox(seed, counter);
  return {unitFloat(first), unitFloat(second)};
}
template <>
inline std::array<double, 2> uniformPair(uint64_t seed, uint64_t counter) {
  return {uniform<double>(seed, 2 * counter),
          uniform<double>(seed, 2 * counter + 1)};
}

} // namespace ltc::kernels
