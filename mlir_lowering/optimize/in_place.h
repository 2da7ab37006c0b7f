//===- in_place.h - Kernels that may overwrite an operand -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

/// Sets attr::kInPlace and attr::kUpdates on a kernel that is on tensors and
/// not tiled yet; the first one empty unless `mayOverwrite`.
void markSharedBuffers(mlir::func::FuncOp kernel, bool mayOverwrite);

} // namespace ltc::compiler
