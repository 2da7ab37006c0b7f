//===- attention_rows.h - The elementwise parts of attention ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "product/matrix_view.h"

#include <cmath>
#include <cstdint>

namespace ltc::kernels {

/// Rows of scores are read and written in pieces of so many: memory behind a
/// row's end, up to the next multiple, is overwritten.
constexpr int64_t kAttentionLanes = 16;

/// A softmax whose scores come in pieces.
struct RunningSoftmax {
  float most = -INFINITY; ///< of the scores so far
  float sum = 0;          ///< of e^(score - most)

  /// A row that has only scores of -inf gets weights of 0, as in ATen.
  float divisor() const { return sum == 0 ? 1 : sum; }
  float logSum() const {
    return (most == -INFINITY ? 0 : most) + std::log(divisor());
  }
};

/// Turns the first `count` scores of a row of `width` into weights, which are
/// still to be divided by the divisor; the others become 0. `mask`, of `count`
/// or null, is added to them once scaled. Returns by what the sums of earlier
/// weights are to be multiplied.
float weighScores(float scale, const float *mask, int64_t count, int64_t width,
                  float *scores, RunningSoftmax &row);

/// What the gradient of a column of scores needs to know of each query.
struct ScoreColumn {
  const float *logSums;
  const float *dots; ///< of the output and its gradient
  const float *mask; ///< what is added to the key's scaled scores
  float scale;
  int64_t first, count; ///< queries before `first` do not see the key
};

/// Turns the scores of one key into weights, and the weights' gradients into
/// the scores'. Both become 0 before the first.
void differentiateScores(const ScoreColumn &at, float *scores,
                         float *gradients);

/// The sum of a[i] * b[i].
float dotProduct(int64_t count, const float *a, const float *b);

/// products[r] = the sum of rows.row(r)[i] * by[i].
void multiplyRows(Rows<const float> rows, int64_t count, int64_t width,
                  const float *by, float *products);

/// Adds to `sum` each of `count` rows times its weight.
void addRows(Rows<const float> rows, int64_t count, int64_t width,
             const float *weights, float *sum);

void scaleRow(float factor, int64_t count, float *row);

} // namespace ltc::kernels
