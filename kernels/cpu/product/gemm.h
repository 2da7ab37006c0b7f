//===- gemm.h - Matrix products around oneDNN's kernel ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MKL gives a processor that is not Intel's its AVX2 code even where AVX-512 is
// there. oneDNN's batch-reduce kernel, which ATen exports for single blocks, is
// made for the machine: blocked and packed around it as in K. Goto and R. van
// de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), a
// product takes 0.85 to 0.95 of MKL's time on such a machine. With AVX2 alone
// one thread takes as long as MKL's, and two take less.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matrix_view.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Whether gemm() reads such an operand: one of its strides is 1, and the other
/// not shorter than a row or column.
bool gemmCan(const MatrixView &operand);

/// Whether gemm() is the faster way to `c = a b` on this processor: it
/// reads both operands, `b` is no vector, and `a` is none where
/// `b` lies by rows.
bool gemmPays(const MatrixView &a, const MatrixView &b);

/// c = a b + addend. The addend is c's shape (a bias has rowStride 0), or null
/// data for none; it overlaps `c` only if it is `c`. Runs on the library's
/// threads, whose number changes no value. Scratch stays with the threads: at
/// most 8.5 MiB each.
void gemm(const MatrixView &a, const MatrixView &b, const MatrixView &addend,
          Rows<float> c);

} // namespace ltc::kernels
