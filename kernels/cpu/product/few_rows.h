//===- few_rows.h - Few rows times a large matrix ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matrix_view.h"

namespace ltc::kernels {

/// Whether `a` has so few rows that memory decides how long the product takes,
/// or nearly so, and packing `b` would take longer; never without
/// hasVectors(). One row times rows is left to ATen.
bool isForFewRows(const MatrixView &a, const MatrixView &b);

/// gemm() of these. Every weight is read once, where it lies. Scratch stays
/// with the threads: as much as `a` needs, or 16 columns of `b`.
void multiplyFewRows(const MatrixView &a, const MatrixView &b,
                     const MatrixView &addend, Rows<float> c);

} // namespace ltc::kernels
