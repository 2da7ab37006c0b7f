//===- emit_nest.h - A linalg op on memrefs as loops ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir_lowering/optimize/optimize.h"

namespace ltc::compiler {

/// Replaces a linalg.generic on memrefs by loops: over vectors along the loop
/// that runs through memory, with sums in registers; over scalars where the
/// body or the memory does not allow that.
void emitNest(mlir::linalg::GenericOp op, const Machine &machine);

} // namespace ltc::compiler
