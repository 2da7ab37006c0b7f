//===- vector_functions.h - For loops that become vectors -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

// One body for each kind of vectors, chosen when the library is loaded: before
// ThreadSanitizer is there to see it.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define LTC_FOR_EACH_CPU                                                       \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LTC_FOR_EACH_CPU
#endif

// The next loop's pointers do not overlap. GCC takes no local __restrict's
// word.
#if defined(__clang__)
#define LTC_NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LTC_NO_OVERLAP _Pragma("GCC ivdep")
#endif

namespace ltc::kernels {

/// 2^n e^r with |r| <= ln(2) / 2: e^x for |x| < 88, after W. Cody and W. Waite,
/// "Software Manual for the Elementary Functions" (1980).
struct ReducedExponent {
  float less;  ///< e^r - 1
  float scale; ///< 2^n
};

static inline ReducedExponent reduceExponent(float x) {
  constexpr float kRound = 12582912.0f; // 1.5 * 2^23: adding it rounds
  float shifted = x * 1.442695041f + kRound;
  float n = shifted - kRound;
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float tail = 1.0f / 720 + r * (1.0f / 5040);
  tail = 1.0f / 24 + r * (1.0f / 120 + r * tail);
  tail = 0.5f + r * (1.0f / 6 + r * tail);
  float scale = std::bit_cast<float>((std::bit_cast<int32_t>(shifted) << 23) +
                                     0x3f800000);
  return {r + r * r * tail, scale};
}

/// e^x - 1 within 2 ULP, for |x| < 88.
static inline float expMinusOne(float x) {
  ReducedExponent e = reduceExponent(x);
  return e.less * e.scale + (e.scale - 1);
}

/// e^x within 2 ULP for x <= 88, 0 where that has no normal number.
static inline float exponential(float x) {
  constexpr float kLeast = -87.0f;
  ReducedExponent e = reduceExponent(x < kLeast ? kLeast : x);
  float value = e.less * e.scale + e.scale;
  return x < kLeast ? 0 : value;
}

/// Compares so that a NaN stays one.
static inline float clampNumber(float x, float bound) {
  x = x > bound ? bound : x;
  return x < -bound ? -bound : x;
}

static inline float sigmoid(float x) {
  return 1 / (2 + expMinusOne(-clampNumber(x, 80.0f)));
}

static inline float hyperbolicTangent(float x) {
  float e = expMinusOne(2 * clampNumber(x, 20.0f));
  return e / (e + 2);
}

} // namespace ltc::kernels
