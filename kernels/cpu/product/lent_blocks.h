//===- lent_blocks.h - Blocks, by who does them fastest ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A front end may lend a kernel for one block that is made for the machine, as
// PyTorch does oneDNN's. Without it our own does.
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

} // namespace ltc::kernels
