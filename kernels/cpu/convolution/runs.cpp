//===- runs.cpp - Sums and products of rows of floats ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to 20 vectors are summed up in registers: of several sums, so that what is
// loaded of a run serves them all.
//
//===----------------------------------------------------------------------===//
#include "runs.h"

#include "wide_vectors.h"

#include <algorithm>
#include <array>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::kernels {
namespace {

constexpr int kVectors = kRunStep / kLineFloats;

LTC_AVX512 WideVector load(const float *from) {
  return *reinterpret_cast<const WideInMemory *>(from);
}

LTC_AVX512 float sumOf(const WideVector &vector) {
#if defined(__x86_64__)
  return _mm512_reduce_add_ps(vector);
#else
  float sum = 0;
  for (int64_t i = 0; i < kLineFloats; ++i)
    sum += vector[i];
  return sum;
#endif
}

template <int count>
LTC_AVX512 void addSome(const float *const *runs, size_t runCount,
                        const RunSum *sums, int64_t length) {
  for (int64_t i = 0; i < length; i += kRunStep) {
    WideVector totals[count][kVectors];
    for (int k = 0; k < count; ++k)
      for (int v = 0; v < kVectors; ++v)
        totals[k][v] = WideVector{} + sums[k].first;
    for (size_t t = 0; t < runCount; ++t) {
      WideVector run[kVectors];
      for (int v = 0; v < kVectors; ++v)
        run[v] = load(runs[t] + i + v * kLineFloats);
      for (int k = 0; k < count; ++k)
        for (int v = 0; v < kVectors; ++v)
          totals[k][v] += sums[k].factors[t] * run[v];
    }
    for (int k = 0; k < count; ++k)
      for (int v = 0; v < kVectors; ++v)
        *reinterpret_cast<WideInMemory *>(sums[k].to + i + v * kLineFloats) =
            totals[k][v];
  }
}

template <int rows, int taps>
LTC_AVX512 void multiplySome(const float *const *runs, const float *const *by,
                             int64_t length, float *to, int64_t stride) {
  WideVector sums[rows][taps] = {};
  for (int64_t i = 0; i < length; i += kLineFloats) {
    WideVector factors[rows];
    for (int k = 0; k < rows; ++k)
      factors[k] = load(by[k] + i);
    for (int t = 0; t < taps; ++t) {
      WideVector run = load(runs[t] + i);
      for (int k = 0; k < rows; ++k)
        sums[k][t] += factors[k] * run;
    }
  }
  for (int k = 0; k < rows; ++k)
    for (int t = 0; t < taps; ++t)
      to[k * stride + t] = sumOf(sums[k][t]);
}

/// So many runs by `rows` others, `most` of them at once.
template <int rows, int most>
void multiplyRows(const std::vector<const float *> &runs,
                  const float *const *by, int64_t length, float *to,
                  int64_t stride) {
  using Kind = void (*)(const float *const *, const float *const *, int64_t,
                        float *, int64_t);
  static constexpr auto kinds = []<int... t>(std::integer_sequence<int, t...>) {
    return std::array<Kind, most>{multiplySome<rows, t + 1>...};
  }(std::make_integer_sequence<int, most>());
  for (size_t t = 0; t < runs.size(); t += most) {
    size_t some = std::min<size_t>(most, runs.size() - t);
    kinds[some - 1](runs.data() + t, by, length, to + t, stride);
  }
}

} // namespace

void addRuns(const std::vector<const float *> &runs,
             const std::vector<RunSum> &sums, int64_t count) {
  const RunSum *next = sums.data();
  size_t left = sums.size();
  for (; left >= 4; left -= 4, next += 4)
    addSome<4>(runs.data(), runs.size(), next, count);
  if (left == 3)
    return addSome<3>(runs.data(), runs.size(), next, count);
  if (left == 2)
    return addSome<2>(runs.data(), runs.size(), next, count);
  if (left == 1)
    addSome<1>(runs.data(), runs.size(), next, count);
}

void multiplyRuns(const std::vector<const float *> &runs,
                  const std::vector<const float *> &by, int64_t count,
                  float *to, int64_t stride) {
  size_t k = 0;
  for (; k + 4 <= by.size(); k += 4)
    multiplyRows<4, 5>(runs, &by[k], count, to + int64_t(k) * stride, stride);
  for (; k + 2 <= by.size(); k += 2)
    multiplyRows<2, 9>(runs, &by[k], count, to + int64_t(k) * stride, stride);
  if (k < by.size())
    multiplyRows<1, 9>(runs, &by[k], count, to + int64_t(k) * stride, stride);
}

} // namespace ltc::kernels
