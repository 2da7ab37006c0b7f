//===- plain_product.h - Products of any operands ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

namespace ltc::kernels {

/// alpha a b + beta addend, of matrices or of batches of them.
struct PlainProduct {
  TensorView a, b;
  TensorView addend; ///< broadcasts to the result; undefined: none
  double beta, alpha;
};

/// Writes it to `c`, by gemm() where that can, or says false: of other types
/// than float32 and float64.
bool plainProduct(const PlainProduct &of, const TensorView &c);

} // namespace ltc::kernels
