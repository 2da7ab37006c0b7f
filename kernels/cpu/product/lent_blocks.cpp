//===- lent_blocks.cpp - Blocks, by who does them fastest -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "product/lent_blocks.h"

#include "lent.h"
#include "product/block_product.h"

#include <algorithm>
#include <cstring>

namespace ltc::kernels {
namespace {

/// A product whose first column is inside a vector of the panel: by those of
/// the whole vector, a few rows at a time.
void multiplyInside(BlockProduct of, int64_t skipped) {
  constexpr int64_t kRows = 32;
  alignas(64) float sums[kRows * kPanelCols];
  Rows<float> c = of.c;
  int64_t cols = of.cols, rows = of.rows;
  of.b -= skipped;
  of.cols += skipped;
  of.c = {sums, kPanelCols};
  for (int64_t row = 0; row < rows; row += kRows) {
    of.rows = std::min(kRows, rows - row);
    for (int64_t r = 0; of.accumulate && r < of.rows; ++r) {
      std::memset(sums + r * kPanelCols, 0, skipped * sizeof(float));
      std::memcpy(sums + r * kPanelCols + skipped, c.row(row + r),
                  cols * sizeof(float));
    }
    multiplyBlock(of);
    for (int64_t r = 0; r < of.rows; ++r)
      std::memcpy(c.row(row + r), sums + r * kPanelCols + skipped,
                  cols * sizeof(float));
    of.a.data += kRows * of.a.rowStride;
  }
}

} // namespace

void multiplyPanel(Rows<const float> a, int64_t rows, int64_t depth,
                   const float *b, int64_t cols, bool accumulate,
                   Rows<float> c) {
  if (auto multiply = lent().multiply)
    return multiply(rows, cols, depth, a.stride, kPanelCols, c.stride,
                    accumulate, a.data, b, c.data);
  BlockProduct product{.rows = rows,
                       .cols = cols,
                       .depth = depth,
                       .a = {a.data, a.stride, 1},
                       .b = b,
                       .accumulate = accumulate,
                       .c = c,
                       .prefetch = {}};
  // Panels begin at a page, or at a multiple of their width from there.
  int64_t skipped =
      int64_t(reinterpret_cast<uintptr_t>(b) / sizeof(float)) % kLineFloats;
  if (skipped == 0)
    multiplyBlock(product);
  else
    multiplyInside(product, skipped);
}

void transpose(int64_t rows, int64_t cols, const float *from,
               int64_t fromStride, float *to, int64_t toStride) {
  if (auto lentOne = lent().transpose)
    return lentOne(rows, cols, from, fromStride, to, toStride);
  // Squares whose lines stay in the first-level cache.
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < rows; row += kSide)
    for (int64_t col = 0; col < cols; col += kSide) {
      int64_t lastRow = std::min(rows, row + kSide),
              lastCol = std::min(cols, col + kSide);
      for (int64_t c = col; c < lastCol; ++c)
        for (int64_t r = row; r < lastRow; ++r)
          to[c * toStride + r] = from[r * fromStride + c];
    }
}

} // namespace ltc::kernels
