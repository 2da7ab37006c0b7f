//===- runs.cpp - Sums and products of rows of floats ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to 20 vectors (10 with AVX2) are summed up in registers: of several sums,
// so that what is loaded of a run serves them all.
//
//===----------------------------------------------------------------------===//
#include "runs.h"

#include "vectors.h"

#include <algorithm>
#include <utility>

namespace ltc::kernels {
namespace {

// Sums stay in registers, with what they are made from: of AVX-512's 32, and of
// AVX2's 16.
constexpr int vectorsOfStep(int lanes) { return lanes == 16 ? 4 : 2; }
constexpr int mostRuns(int lanes, int rows) {
  if (lanes == 16)
    return rows == 4 ? 5 : 9;
  return rows == 4 ? 2 : rows == 2 ? 5 : 9;
}

template <int lanes> LTC_INLINED float sumOf(Floats<lanes> vector) {
  float parts[lanes];
  vector.store(parts);
  for (int half = lanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  return parts[0];
}

template <int lanes, int count>
LTC_INLINED void addSome(const float *const *runs, size_t runCount,
                         const RunSum *sums, int64_t length) {
  constexpr int64_t kVectors = vectorsOfStep(lanes);
  using Vector = Floats<lanes>;
  for (int64_t i = 0; i < length; i += kVectors * lanes) {
    Vector totals[count][kVectors];
    for (int k = 0; k < count; ++k)
      for (int64_t v = 0; v < kVectors; ++v)
        totals[k][v] = Vector() + sums[k].first;
    for (size_t t = 0; t < runCount; ++t) {
      Vector run[kVectors];
      for (int64_t v = 0; v < kVectors; ++v)
        run[v] = Vector::load(runs[t] + i + v * lanes);
      for (int k = 0; k < count; ++k)
        for (int64_t v = 0; v < kVectors; ++v)
          totals[k][v].addProduct(run[v], sums[k].factors[t]);
    }
    for (int k = 0; k < count; ++k)
      for (int64_t v = 0; v < kVectors; ++v)
        totals[k][v].store(sums[k].to + i + v * lanes);
  }
}

template <int count>
void addSome(const float *const *runs, size_t runCount, const RunSum *sums,
             int64_t length) {
  withVectors([&](auto lanes) LTC_INLINED {
    addSome<lanes, count>(runs, runCount, sums, length);
  });
}

template <int lanes, int rows, int taps>
LTC_INLINED void multiplySome(const float *const *runs, const float *const *by,
                              int64_t length, float *to, int64_t stride) {
  using Vector = Floats<lanes>;
  Vector sums[rows][taps];
  for (int64_t i = 0; i < length; i += lanes) {
    Vector factors[rows];
    for (int k = 0; k < rows; ++k)
      factors[k] = Vector::load(by[k] + i);
    for (int t = 0; t < taps; ++t) {
      Vector run = Vector::load(runs[t] + i);
      for (int k = 0; k < rows; ++k)
        sums[k][t].addProduct(factors[k], run);
    }
  }
  for (int k = 0; k < rows; ++k)
    for (int t = 0; t < taps; ++t)
      to[k * stride + t] = sumOf(sums[k][t]);
}

/// So many runs by `rows` others, as many of them at once as there is room for.
template <int lanes, int rows>
LTC_INLINED void multiplyRows(const std::vector<const float *> &runs,
                              const float *const *by, int64_t length, float *to,
                              int64_t stride) {
  constexpr int kMost = mostRuns(lanes, rows);
  for (size_t t = 0; t < runs.size(); t += kMost) {
    int some = int(std::min<size_t>(kMost, runs.size() - t));
    [&]<int... less>(std::integer_sequence<int, less...>) LTC_INLINED {
      ((some == less + 1 ? multiplySome<lanes, rows, less + 1>(
                               runs.data() + t, by, length, to + t, stride)
                         : void()),
       ...);
    }(std::make_integer_sequence<int, kMost>());
  }
}

template <int rows>
void multiplyRows(const std::vector<const float *> &runs,
                  const float *const *by, int64_t length, float *to,
                  int64_t stride) {
  withVectors([&](auto lanes) LTC_INLINED {
    multiplyRows<lanes, rows>(runs, by, length, to, stride);
  });
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
    multiplyRows<4>(runs, &by[k], count, to + int64_t(k) * stride, stride);
  for (; k + 2 <= by.size(); k += 2)
    multiplyRows<2>(runs, &by[k], count, to + int64_t(k) * stride, stride);
  if (k < by.size())
    multiplyRows<1>(runs, &by[k], count, to + int64_t(k) * stride, stride);
}

} // namespace ltc::kernels
