//===- lent_blocks.h - Blocks, by who does them fastest ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A front end may lend kernels for one block that are made for the machine, as
// PyTorch does oneDNN's and FBGEMM's. Without them our own do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "product/matrix_view.h"

namespace ltc::kernels {

/// c = a b, or c += a b; `b` is `cols` columns of a panel (pack.h), from a
/// whole vector on, and `depth` rows of it. On the calling thread, of a
/// processor with hasVectors().
void multiplyPanel(Rows<const float> a, int64_t rows, int64_t depth,
                   const float *b, int64_t cols, bool accumulate,
                   Rows<float> c);

/// Column c of `from`, rows * cols, becomes row c of `to`.
void transpose(int64_t rows, int64_t cols, const float *from,
               int64_t fromStride, float *to, int64_t toStride);

} // namespace ltc::kernels
