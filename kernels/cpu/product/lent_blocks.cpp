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

namespace ltc::kernels {

void multiplyPanel(Rows<const float> a, int64_t rows, int64_t depth,
                   const float *b, int64_t cols, bool accumulate,
                   Rows<float> c) {
  if (auto multiply = lent().multiply)
    return multiply(rows, cols, depth, a.stride, kPanelCols, c.stride,
                    accumulate, a.data, b, c.data);
  multiplyBlock({.rows = rows,
                 .cols = cols,
                 .depth = depth,
                 .a = {a.data, a.stride, 1},
                 .b = b,
                 .accumulate = accumulate,
                 .c = c,
                 .prefetch = {}});
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
