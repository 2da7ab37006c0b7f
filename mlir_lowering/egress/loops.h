//===- loops.h - linalg.generic as ops on whole tensors ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each value of a body becomes a tensor of the loops that it depends on, and is
// broadcast where it meets one that depends on others. Reads at computed
// positions are gathers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace ltc::compiler {

/// What upstream's values have become; scalars are tensors without dimensions.
using Said = llvm::DenseMap<mlir::Value, mlir::Value>;

/// A value in a body.
struct Element {
  mlir::Value tensor;               ///< a dimension for each of the loops
  llvm::SmallVector<int64_t> loops; ///< ascending
  int64_t counts = -1;              ///< the loop whose position it is
};

class Body {
public:
  Body(TensorDialect &d, const Said &said, Extents sizes)
      : d(d), said(said), sizes(sizes) {}

  void set(mlir::Value value, Element element) { values[value] = element; }
  /// A value of the body, or one that is captured.
  Element get(mlir::Value value);
  /// Says one op of the body.
  void say(mlir::Operation *op);
  /// How an operand is read: a tensor whose dimension i runs over loops[i].
  Element read(mlir::Value tensor, mlir::AffineMap map);
  /// The element in every loop.
  mlir::Value everywhere(const Element &element);

private:
  Element sorted(mlir::Value tensor, llvm::SmallVector<int64_t> loops);
  mlir::Value aligned(const Element &element, Extents loops, bool really);
  Element load(mlir::tensor::ExtractOp op);

  TensorDialect &d;
  const Said &said;
  llvm::SmallVector<int64_t> sizes;
  llvm::DenseMap<mlir::Value, Element> values;
};

/// The results of the op.
Tensors sayGeneric(TensorDialect &d, const Said &said,
                   mlir::linalg::GenericOp op);

} // namespace ltc::compiler
