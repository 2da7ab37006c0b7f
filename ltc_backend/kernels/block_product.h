//===- block_product.h - A block of rows times a panel ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc::backend {

/// Columns of a panel: its rows stand this many floats apart.
inline constexpr int64_t kBlockCols = 64;

/// Floats that are read soon: `lines` times, `lineStride` apart, one cache line
/// at each of so many places, `stride` apart, as the product is deep.
struct SoonRead {
  const float *data;
  int64_t stride, lines, lineStride = 16;
};

/// Element (r, k) at data[r * rowStride + k * depthStride], or the same of
/// several `pieces`, each as deep as one product, one after the other.
struct BlockLeft {
  const float *data;
  int64_t rowStride, depthStride, pieces = 1, pieceStride = 0;
};

/// c = a b, or c += it; a weight's gradient has its left side by columns, which
/// oneDNN's kernel wants turned over. `a` has `depth` columns in each piece,
/// `b` is a panel of as many rows as `a` has columns, `c` has `cols` <=
/// kBlockCols. Brings `soon` near meanwhile. On the calling thread; for
/// AVX-512.
void multiplyBlock(int64_t rows, int64_t cols, int64_t depth,
                   const BlockLeft &a, const float *b, bool accumulate,
                   float *c, int64_t cStride, const SoonRead &soon);

} // namespace ltc::backend
