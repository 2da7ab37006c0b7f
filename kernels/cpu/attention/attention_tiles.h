//===- attention_tiles.h - Tiles of scores and their operands ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "attention.h"
#include "attention_heads.h"
#include "attention_rows.h"
#include "product/pack.h"

#include <utility>

namespace ltc::kernels {

/// Rows of a tile, and for how many keys operands are packed at a time.
inline constexpr int64_t kTileRows = 32, kTileKeys = 512;
/// Rows of a tile begin in different sets of the first-level cache.
constexpr int64_t strideOf(int64_t cols) { return cols + kAttentionLanes; }

/// The mask of one head: row(q)[k], or that of a query for all of them.
inline Rows<const float> maskOf(const TensorView &t, int64_t batch,
                                int64_t head) {
  if (!t.isDefined())
    return {nullptr, 0};
  auto step = [&](int64_t dim) { return t.size(dim) == 1 ? 0 : t.stride(dim); };
  return {t.as<float>() + batch * step(0) + head * step(1), step(2)};
}

/// What a call has of one head.
struct AttentionHead {
  AttentionHead(const Attention &of, const TensorView &output,
                const TensorView &logSums, int64_t batch, int64_t head)
      : query(of.query, batch, head), key(of.key, batch, head),
        value(of.value, batch, head), output(output, batch, head),
        mask(maskOf(of.mask, batch, head)),
        logSums(logSums.as<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {}

  float &logSum(int64_t query) const { return logSums[query * logSumStride]; }

  const HeadRows query, key, value, output;
  const Rows<const float> mask;

private:
  float *const logSums;
  const int64_t logSumStride;
};

/// The number of keys that the queries before `end` see.
inline int64_t keysBefore(const Attention &of, int64_t end) {
  int64_t keys = of.key.size(2);
  return of.causal ? std::min(end, keys) : keys;
}

/// The first `count` rows as the right side of a product, or its transpose.
inline MatrixView matrixOf(Rows<const float> from, int64_t count,
                           int64_t width) {
  return {from.data, count, width, from.stride, 1};
}

/// Hands out pieces of a thread's scratch.
class Room {
public:
  explicit Room(float *data) : data(data) {}
  float *take(int64_t count) { return std::exchange(data, data + count); }
  Panels takePanels(int64_t rows, int64_t cols) {
    return {take(Panels::roomFor(rows, cols)), rows, cols};
  }

private:
  float *data;
};

} // namespace ltc::kernels
