//===- contract.h - What may be left after a stage --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "mlir/IR/BuiltinOps.h"

namespace ltc::compiler {

/// Fails, with a diagnostic that names the first op that should be gone.
mlir::LogicalResult checkContract(mlir::ModuleOp module, Stage after);

} // namespace ltc::compiler
