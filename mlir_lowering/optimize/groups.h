//===- groups.h - Which ops become one kernel -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// Ops of @main that run as one parallel loop, in program order.
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;
  /// For each op, the loop dimensions that stand for the group's rows: the
  /// i-th row dimension of one op is the i-th of every other.
  llvm::SmallVector<llvm::SmallVector<int64_t>> rows;
  /// For each of those, how many of the op's iterations are one of the group's:
  /// all rows of a block, beside the one row of sums that the block gives.
  llvm::SmallVector<llvm::SmallVector<int64_t>> units;
  llvm::StringRef kind;
};

/// Every op of @main that computes a tensor, in exactly one group; groups in
/// the order of their last ops. Needs fills private to their reductions.
/// Without `join` each op is a group, with those fills.
llvm::SmallVector<Group> findGroups(mlir::func::FuncOp main, bool join,
                                    const TargetFacts &facts);

/// What decides how a reduction runs through memory; null if it reads none.
mlir::OpOperand *largestInput(mlir::linalg::GenericOp op);
/// Whether the largest input is densest along a reduction, or along columns.
llvm::StringRef reductionKind(mlir::linalg::GenericOp op);

/// A linalg.generic that writes one scalar everywhere.
bool isFill(mlir::Operation *op);

/// The tensor that a value is, or is a view of.
mlir::Value viewedTensor(mlir::Value value);

/// Ops that stay in @main: views, allocations, library calls, scalars.
bool staysInMain(mlir::Operation *op);

} // namespace ltc::compiler
