//===- index_set_splitting.h - Loops without conditions ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// The ops, of one part of the innermost dimension each, that stand for `op`,
/// in which places that a condition on that dimension decides are plain: the
/// middle of a padded row, each copy in a repeated one. `op` itself where none
/// would be read more simply.
llvm::SmallVector<mlir::linalg::GenericOp>
splitIndexSets(mlir::linalg::GenericOp op);

} // namespace ltc::compiler
