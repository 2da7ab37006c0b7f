//===- symbols.h - Symbolic sizes as run-time values ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/formula.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

/// A formula, computed of the values of its symbols.
mlir::Value computeSize(mlir::ImplicitLocOpBuilder &b, const Formula &formula,
                        llvm::function_ref<mlir::Value(uint32_t)> symbol);

/// Whether a function computes with a symbolic size.
bool usesSymbols(mlir::func::FuncOp function);

/// Replaces every ltc.size of a function by arithmetic behind the definition
/// of `symbols`, a pointer to the symbols' values, int64_t each. Fails on one
/// that does not verify.
mlir::LogicalResult lowerSizes(mlir::func::FuncOp function,
                               mlir::Value symbols);

} // namespace ltc::compiler
