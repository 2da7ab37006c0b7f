//===- main_function.h - @main in another dialect ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

/// Writes what `main` does, in linalg and ltc.ops that findWholeOp() knows, as
/// a function of that name at the dialect's builder. Fails with a diagnostic.
mlir::LogicalResult sayMain(TensorDialect &d, mlir::func::FuncOp main);

} // namespace ltc::compiler
