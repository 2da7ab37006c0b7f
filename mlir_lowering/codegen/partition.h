//===- partition.h - A large module in parts --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace ltc::compiler {

/// Moves the kernels of a large module, in order, into modules inside it. A
/// small module stays as it is. Needs listSteps(). How it is cut depends on
/// nothing but the module.
void partition(mlir::ModuleOp module);

/// What partition() left, in order: the modules inside, or `module` itself.
llvm::SmallVector<mlir::ModuleOp> partsOf(mlir::ModuleOp module);

} // namespace ltc::compiler
