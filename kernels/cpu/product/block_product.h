//===- block_product.h - A block of rows times a panel ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matrix_view.h"

#include "ltc/types.h"

#include <cstdint>

namespace ltc::kernels {

/// Columns of a panel: its rows stand this many floats apart.
inline constexpr int64_t kPanelCols = 64;
/// Floats of a cache line, and of a vector.
inline constexpr int64_t kLineFloats = 16;

/// Floats that are read soon: `lines` times, `lineStride` apart, one cache line
/// at each of so many places, `stride` apart, as the product is deep.
struct Prefetch {
  const float *data;
  int64_t stride, lines, lineStride = kLineFloats;
};

/// Element (r, k) at data[r * rowStride + k * depthStride], one of which is 1,
/// or the same of several `pieces`, each as deep as one product, one after the
/// other.
struct BlockLeft {
  const float *data;
  int64_t rowStride, depthStride, pieces = 1, pieceStride = 0;
};

/// c = a b, or c += it. A weight's gradient has its left side by columns, which
/// oneDNN's kernel wants turned over and this one reads as it lies.
struct BlockProduct {
  int64_t rows, cols; ///< of `c`; at most kPanelCols columns
  int64_t depth;      ///< columns of `a` in each piece
  BlockLeft a;
  const float *b; ///< as many rows, of whole vectors, as `a` has columns
  int64_t bStride = kPanelCols; ///< of them
  bool accumulate;
  Rows<float> c;
  Prefetch prefetch; ///< what to bring near meanwhile
};

/// On the calling thread, of a processor with hasVectors(). Where it has
/// hasWideVectors() the result is the same.
void multiplyBlock(const BlockProduct &product);

} // namespace ltc::kernels
