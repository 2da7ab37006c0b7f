//===- split_entry.h - A long @main in parts --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

/// Some calls of @main, in order, and the views that they need.
struct EntryPart {
  mlir::func::FuncOp function;
  llvm::SmallVector<unsigned> arguments; ///< which of @main's its own are
};

/// Moves the calls of a long @main into functions of a few hundred, to be
/// called one after the other; @main is left empty. A short one is its own and
/// only part.
llvm::SmallVector<EntryPart> splitMain(mlir::func::FuncOp main);

} // namespace ltc::compiler
