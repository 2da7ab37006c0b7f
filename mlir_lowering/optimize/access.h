//===- access.h - How a linalg op on memrefs reaches memory -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operand becomes a flat memref and one stride for each loop, so that
// loops can be merged, dropped and ordered without looking at shapes again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

struct Access {
  mlir::Value base; ///< memref<?xT>, or the scalar itself
  bool isScalar = false;
  mlir::Value offset;
  /// Elements from one iteration of a loop to the next; no entry is dynamic
  /// unless `dynamic` has its value.
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<mlir::Value> dynamic;
  /// Indices that are no sum of multiples of loops: computed at each point.
  mlir::AffineMap general;
  llvm::SmallVector<mlir::Value> generalStrides;

  bool isUniformAlong(unsigned loop) const {
    return isScalar || strides[loop] == 0;
  }
};

/// One loop of the nest that is left after merging.
struct Loop {
  int64_t extent = 1; ///< ShapedType::kDynamic: see size
  mlir::Value size;
  bool reduction = false;
};

/// The loops and accesses of a linalg.generic on memrefs. Loops of one
/// iteration are dropped and neighbours that run through memory as one are
/// merged.
struct Nest {
  llvm::SmallVector<Loop> loops;
  llvm::SmallVector<Access> accesses; ///< one for each operand
  /// For each dimension of the op, its loop, or -1 when it is always 0.
  llvm::SmallVector<int> loopOf;
};

Nest analyzeNest(mlir::ImplicitLocOpBuilder &b, mlir::linalg::GenericOp op);

} // namespace ltc::compiler
