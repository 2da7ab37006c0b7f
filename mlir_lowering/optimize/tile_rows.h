//===- tile_rows.h - One parallel loop around several ops -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// How a kernel's rows are cut.
struct RowTiles {
  llvm::SmallVector<int64_t> sizes; ///< iterations, for each row dimension
  int64_t blockStep = 1; ///< rows at a time of a block (attr::kUnits)
};

/// How many iterations of the kernel's loop an op's rows are, for each of them.
llvm::SmallVector<int64_t> rowCounts(mlir::linalg::GenericOp op);
/// The row dimension of which an iteration is a block of rows, if there is one,
/// and how many rows that is.
std::optional<std::pair<size_t, int64_t>>
blockOf(llvm::ArrayRef<mlir::linalg::GenericOp> ops);

/// Puts the ops of a kernel into one scf.forall over tiles of their shared
/// rows (attr::kRows). Fails, with a diagnostic, where two iterations could
/// write one element: rows must be parallel and index every result.
mlir::LogicalResult tileRows(mlir::func::FuncOp kernel,
                             llvm::ArrayRef<mlir::linalg::GenericOp> ops,
                             const RowTiles &tiles);

} // namespace ltc::compiler
