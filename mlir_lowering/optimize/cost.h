//===- cost.h - What a linalg op costs --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// Cost of one point of the iteration space; 1 is an addition.
int64_t pointCost(mlir::linalg::LinalgOp op);
/// The same where vectors of points along the last loop share what does not
/// depend on it.
int64_t vectorPointCost(mlir::linalg::LinalgOp op);
/// The sizes of an op's loops: numbers or symbolic (sizes.h).
llvm::SmallVector<int64_t> loopSizes(mlir::linalg::LinalgOp op);
/// The same with the hints of symbolic ones: for choices of speed alone.
llvm::SmallVector<int64_t> usualLoopSizes(mlir::linalg::LinalgOp op);
/// Number of points, by the hints.
int64_t iterations(mlir::linalg::LinalgOp op);
/// Elements of a tensor by the hints, 1 of anything else.
int64_t elementCount(mlir::Value value);

/// Bytes of a tensor by the hints.
int64_t byteCount(mlir::Value tensor);
/// Whether several large tensors are computed for these ops alone, and would
/// have to stay in memory while more are made, if the ops waited until `later`
/// runs.
bool wouldHoldMuch(llvm::ArrayRef<mlir::Operation *> ops,
                   mlir::Operation *later, const TargetFacts &facts);

} // namespace ltc::compiler
