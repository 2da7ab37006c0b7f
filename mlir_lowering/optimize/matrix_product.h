//===- matrix_product.h - Loops that multiply matrices ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// What a linalg.generic on tensors or memrefs is that adds up, in f32, the
/// products of two matrices of one 16-bit type: what units for matrices
/// compute. Other parallel loops go through a batch.
struct MatrixProduct {
  unsigned left, right;        ///< operands
  unsigned row, column, inner; ///< loops

  static std::optional<MatrixProduct> of(mlir::Operation *op);
};

/// Whether one of these ops is such a product.
bool haveMatrixProduct(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace ltc::compiler
