//===- vectors.h - Kernels for the vectors of a processor -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is written once, for vectors of `lanes` floats, and withVectors()
// compiles it for 16 (AVX-512, which has 32 registers) and for 8 (AVX2, 16
// registers):
//
//   withVectors([&](auto lanes) LTC_INLINED {
//     for (int64_t i = 0; i + lanes <= count; i += lanes)
//       (Floats<lanes>::load(from + i) * 2.0f).store(to + i);
//   });
//
// What such a body calls is LTC_INLINED, too, or is not compiled for vectors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#define LTC_AVX512 __attribute__((target("avx512f,bmi2")))
#define LTC_AVX2 __attribute__((target("avx2,fma")))
#else
#define LTC_AVX512
#define LTC_AVX2
#endif
#define LTC_INLINED __attribute__((always_inline))

namespace ltc::kernels {

/// Whether this processor has AVX2 and FMA, and AVX-512 besides, and PyTorch's
/// ATEN_CPU_CAPABILITY does not keep its kernels, and so ours, from them.
bool hasVectors();
bool hasWideVectors();

template <int lanes> using Lanes = std::integral_constant<int, lanes>;

template <typename Body> LTC_AVX512 void withWideVectors(const Body &body) {
  body(Lanes<16>());
}
template <typename Body> LTC_AVX2 void withHalfVectors(const Body &body) {
  body(Lanes<8>());
}

/// body(Lanes<16>() or Lanes<8>()), given hasVectors().
template <typename Body> void withVectors(const Body &body) {
  if (hasWideVectors())
    withWideVectors(body);
  else
    withHalfVectors(body);
}

/// A vector; zeros at first.
template <int lanes> struct Floats {
  using Register __attribute__((vector_size(lanes * sizeof(float)))) = float;
  /// One that lies anywhere among floats.
  using InMemory __attribute__((vector_size(lanes * sizeof(float)), aligned(4),
                                may_alias)) = float;

  LTC_INLINED static Floats load(const float *from) {
    return {*reinterpret_cast<const InMemory *>(from)};
  }
  LTC_INLINED void store(float *to) const {
    *reinterpret_cast<InMemory *>(to) = values;
  }

  LTC_INLINED friend Floats operator+(Floats a, Floats b) {
    return {a.values + b.values};
  }
  LTC_INLINED friend Floats operator-(Floats a, Floats b) {
    return {a.values - b.values};
  }
  LTC_INLINED friend Floats operator*(Floats a, Floats b) {
    return {a.values * b.values};
  }
  LTC_INLINED friend Floats operator+(Floats a, float b) {
    return {a.values + b};
  }
  LTC_INLINED friend Floats operator*(Floats a, float b) {
    return {a.values * b};
  }
  /// By one instruction, as it is written in one expression.
  LTC_INLINED void addProduct(Floats a, Floats b) {
    values += a.values * b.values;
  }
  LTC_INLINED void addProduct(Floats a, float b) { values += a.values * b; }

  Register values{};
};

/// Whether all that was noted is finite: what is not leaves NaN.
template <int lanes> class FiniteCheck {
public:
  LTC_INLINED void note(Floats<lanes> some) { sums.addProduct(some, 0.0f); }
  LTC_INLINED void note(float one) { sums.values[0] += one * 0.0f; }
  LTC_INLINED bool isFinite() const {
    float sum = 0;
    for (int i = 0; i < lanes; ++i)
      sum += sums.values[i];
    return sum == 0;
  }

private:
  Floats<lanes> sums;
};

/// Whether all of `count` floats are finite.
bool areFinite(const float *values, int64_t count);

} // namespace ltc::kernels
