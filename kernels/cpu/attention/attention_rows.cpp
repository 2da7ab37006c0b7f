//===- attention_rows.cpp - The elementwise parts of attention ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attention_rows.h"

#include "vector_functions.h"

#include <algorithm>
#include <cstring>

namespace ltc::kernels {

/// For what a compiler may not reorder by itself: maxima and sums.
using Lanes __attribute__((vector_size(kAttentionLanes * sizeof(float)))) =
    float;

LTC_FOR_EACH_CPU
float weighScores(float scale, const float *mask, int64_t count, int64_t width,
                  float *scores, RunningSoftmax &row) {
  int64_t whole =
      (count + kAttentionLanes - 1) / kAttentionLanes * kAttentionLanes;
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < whole; ++i)
    scores[i] *= scale;
  if (mask) {
    LTC_NO_OVERLAP
    for (int64_t i = 0; i < count; ++i)
      scores[i] += mask[i];
  }
  // Lanes behind the last score have no weight.
  for (int64_t i = count; i < whole; ++i)
    scores[i] = -INFINITY;
  Lanes most = Lanes{} - INFINITY, sum = {}, x;
  for (int64_t i = 0; i < whole; i += kAttentionLanes) {
    std::memcpy(&x, scores + i, sizeof(x));
    most = x > most ? x : most;
  }
  float before = row.most;
  for (int64_t i = 0; i < kAttentionLanes; ++i)
    row.most = std::max(row.most, most[i]);
  float base = row.most == -INFINITY ? 0 : row.most;
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < whole; ++i)
    scores[i] = exponential(scores[i] - base);
  for (int64_t i = 0; i < whole; i += kAttentionLanes) {
    std::memcpy(&x, scores + i, sizeof(x));
    sum += x;
  }
  float earlier = exponential(before - base);
  row.sum *= earlier;
  for (int64_t i = 0; i < kAttentionLanes; ++i)
    row.sum += sum[i];
  if (whole < width)
    std::memset(scores + whole, 0, (width - whole) * sizeof(float));
  return earlier;
}

LTC_FOR_EACH_CPU
void differentiateScores(const ScoreColumn &at, float *scores,
                         float *gradients) {
  // What forward's sums bound, other sums need not.
  constexpr float kMost = 88;
  int64_t begin = at.first / kAttentionLanes * kAttentionLanes;
  int64_t end =
      (at.count + kAttentionLanes - 1) / kAttentionLanes * kAttentionLanes;
  LTC_NO_OVERLAP
  for (int64_t i = begin; i < end; ++i) {
    float power = scores[i] * at.scale + at.mask[i] - at.logSums[i];
    float weight = exponential(power > kMost ? kMost : power);
    scores[i] = weight;
    gradients[i] = weight * (gradients[i] - at.dots[i]) * at.scale;
  }
  std::memset(scores, 0, at.first * sizeof(float));
  std::memset(gradients, 0, at.first * sizeof(float));
}

/// Inlined, or a function that is cloned would call one that is not.
__attribute__((always_inline)) static inline float
sumOfProducts(int64_t count, const float *a, const float *b) {
  Lanes sum = {}, x, y;
  int64_t i = 0;
  for (; i + kAttentionLanes <= count; i += kAttentionLanes) {
    std::memcpy(&x, a + i, sizeof(x));
    std::memcpy(&y, b + i, sizeof(y));
    sum += x * y;
  }
  float total = 0;
  for (; i < count; ++i)
    total += a[i] * b[i];
  for (int64_t lane = 0; lane < kAttentionLanes; ++lane)
    total += sum[lane];
  return total;
}

LTC_FOR_EACH_CPU
float dotProduct(int64_t count, const float *a, const float *b) {
  return sumOfProducts(count, a, b);
}

LTC_FOR_EACH_CPU
void multiplyRows(Rows<const float> rows, int64_t count, int64_t width,
                  const float *by, float *products) {
  for (int64_t r = 0; r < count; ++r)
    products[r] = sumOfProducts(width, rows.row(r), by);
}

LTC_FOR_EACH_CPU
void addRows(Rows<const float> rows, int64_t count, int64_t width,
             const float *weights, float *sum) {
  constexpr int64_t kVectors = 4, kPiece = kVectors * kAttentionLanes;
  int64_t first = 0;
  for (; first + kPiece <= width; first += kPiece) {
    Lanes sums[kVectors], x;
    std::memcpy(sums, sum + first, sizeof(sums));
    for (int64_t r = 0; r < count; ++r)
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) {
        std::memcpy(&x, rows.row(r) + first + v * kAttentionLanes, sizeof(x));
        sums[v] += weights[r] * x;
      }
    std::memcpy(sum + first, sums, sizeof(sums));
  }
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = first; i < width; ++i)
      sum[i] += weights[r] * rows.row(r)[i];
}

LTC_FOR_EACH_CPU
void scaleRow(float factor, int64_t count, float *row) {
  for (int64_t i = 0; i < count; ++i)
    row[i] *= factor;
}

} // namespace ltc::kernels
