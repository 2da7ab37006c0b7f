//===- few_rows.h - Few rows times a matrix by columns ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matrix_view.h"

namespace ltc::backend {

/// Whether `b` lies by columns, as a layer's weight does, and `a` has so few
/// rows that memory decides how long the product takes, or nearly so; `b` has 4
/// columns or more.
bool isForFewRows(const MatrixView &a, const MatrixView &b);

/// gemm() of these. Every weight is read once, where it lies. Scratch stays
/// with the thread that calls: as much as `a` needs. For processors with
/// hasBlockProduct().
void multiplyFewRows(const MatrixView &a, const MatrixView &b,
                     const MatrixView &addend, Rows<float> c);

} // namespace ltc::backend
