//===- wide_vectors.h - AVX-512's vectors of floats -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For kernels that run only where hasBlockProduct() says so.
//
//===----------------------------------------------------------------------===//
#pragma once

#if defined(__x86_64__)
#define LTC_AVX512 __attribute__((target("avx512f")))
#else
#define LTC_AVX512
#endif

namespace ltc::backend {

using WideVector __attribute__((vector_size(64))) = float;
/// One that lies anywhere among floats.
using WideInMemory __attribute__((vector_size(64), aligned(4), may_alias)) =
    float;

/// What is not finite leaves NaN in `check`, zeros at first.
LTC_AVX512 inline void noteFinite(const WideVector &value, WideVector &check) {
  check += value - value;
}

/// Whether all were finite.
LTC_AVX512 inline bool areFinite(const WideVector &check) {
  float sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += check[i];
  return sum == 0;
}

} // namespace ltc::backend
