//===- wide_vectors.h - Vectors as long as a cache line ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AVX-512 has 32 registers of them. Kernels that need those run only where
// hasWideVectors() says so.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#if defined(__x86_64__)
#define LTC_AVX512 __attribute__((target("avx512f")))
#define LTC_AVX2 __attribute__((target("avx2,fma")))
#else
#define LTC_AVX512
#define LTC_AVX2
#endif

namespace ltc::kernels {

/// Whether this processor has AVX-512, or at least AVX2 and FMA, and PyTorch's
/// ATEN_CPU_CAPABILITY does not keep its kernels, and so ours, from them.
LTC_API bool hasWideVectors();
LTC_API bool hasHalfVectors();

using WideVector __attribute__((vector_size(64))) = float;
/// One that lies anywhere among floats.
using WideInMemory __attribute__((vector_size(64), aligned(4), may_alias)) =
    float;

/// What is not finite leaves NaN in `check`, zeros at first.
LTC_AVX512 inline void noteFinite(const WideVector &value, WideVector &check) {
  check += value * 0.0f;
}

/// Whether all were finite.
LTC_AVX512 inline bool areFinite(const WideVector &check) {
  float sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += check[i];
  return sum == 0;
}
LTC_AVX512 inline bool areFinite(const float *values, int64_t count) {
  WideVector check = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    WideVector some = *reinterpret_cast<const WideInMemory *>(values + i);
    noteFinite(some, check);
  }
  for (; i < count; ++i)
    check[0] += values[i] * 0.0f;
  return areFinite(check);
}

} // namespace ltc::kernels
