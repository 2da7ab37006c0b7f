//===- generics.h - What is computed in a kernel on memrefs -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// The linalg ops of a kernel, in order, once all of them and its copies are
/// linalg.generic, and what they make of an index is arithmetic.
mlir::FailureOr<llvm::SmallVector<mlir::linalg::GenericOp>>
genericsOf(mlir::func::FuncOp kernel);

} // namespace ltc::compiler
