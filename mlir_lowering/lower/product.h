//===- product.h - Products as loops, or named ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/emit.h"

namespace ltc::compiler {

/// What becomes of products.
struct Products {
  int64_t mostPoints = 0; ///< those of at most so many multiplications are ours
  bool areNamed = false;  ///< as linalg.matmul and such, rather than as loops
  /// The same of 16-bit reals, for units that multiply matrices, and of how
  /// many rows at most.
  int64_t mostInMatrices = 0, mostRows = 0;
};

/// What a product of matrices or vectors gives; absent if it is not ours, or
/// not of known sizes and a dtype with arithmetic.
Value lowerProduct(Emit &e, const OpCall &op, const Products &products);

/// The product of matrices, batches of them or vectors as one of linalg's ops,
/// in sumDType() of `dtype`, its factors'.
Value namedProduct(Emit &e, Value left, Value right, Dims sizes, DType dtype);

} // namespace ltc::compiler
