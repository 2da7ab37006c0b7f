//===- group_rows.h - How the rows of groups meet ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/optimize/groups.h"

namespace ltc::compiler {

/// A row dimension of a group as a consumer sees it: the consumer's loop that
/// runs along it, of which so many iterations are so many of the group's.
struct RowInConsumer {
  static constexpr int64_t kUnread = -2, kNone = -1;
  int64_t dim = kUnread;
  int64_t iterations = 1, units = 1;

  /// How many units of the group are `count` iterations.
  int64_t scaleTo(int64_t count) const { return count / iterations * units; }
};
using RowsInConsumer = llvm::SmallVector<RowInConsumer>;

/// The row that runs along a loop of the consumer; the number of rows if none.
size_t placeOf(llvm::ArrayRef<RowInConsumer> rows, int64_t dim);
/// The number of an op in its group; the group's size if it is of another.
size_t placeIn(const Group &group, mlir::Operation *op);

/// The consumer's dimensions along the group's rows; nothing if it reads the
/// group's values other than tile by tile. Of a sum of blocks of rows that
/// reads none, those along a large tensor that both read.
std::optional<RowsInConsumer> rowsIn(const Group &group,
                                     mlir::linalg::GenericOp consumer);

/// What is one iteration of the group that a consumer makes with others.
struct Units {
  llvm::SmallVector<int64_t> iterations; ///< of the consumer, for each row
  int64_t block = 1;                     ///< rows of one, if there are blocks
};
/// For the rows `kept`, each of which runs along one of every group; nothing if
/// these have blocks of different sizes, or along different rows.
std::optional<Units> unitsOf(mlir::linalg::GenericOp consumer,
                             llvm::ArrayRef<int64_t> kept,
                             llvm::ArrayRef<const Group *> groups);

/// Whether an op reads a tensor as large as any that it reads.
bool isLargeInput(mlir::Value input, mlir::linalg::GenericOp op);
/// Whether an op sums blocks of rows, and all the dimensions that say which one
/// are among `kept`.
bool keepsBlocks(mlir::linalg::GenericOp op, llvm::ArrayRef<int64_t> kept);

} // namespace ltc::compiler
