//===- lent_blocks.cpp - Blocks, by who does them fastest -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "product/lent_blocks.h"

#include "lent.h"
#include "product/block_product.h"

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

} // namespace ltc::kernels
