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

/// Puts the ops of a kernel into one scf.forall over tiles of their shared
/// rows (attr::kRows). Fails, with a diagnostic, where two iterations could
/// write one element: rows must be parallel and index every result.
mlir::LogicalResult tileRows(mlir::func::FuncOp kernel,
                             llvm::ArrayRef<mlir::linalg::GenericOp> ops,
                             llvm::ArrayRef<int64_t> tiles);

} // namespace ltc::compiler
