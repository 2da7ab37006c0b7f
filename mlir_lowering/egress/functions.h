//===- functions.h - Functions by those that a dialect has ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"

namespace ltc::compiler {

/// Replaces the ops below `root` that the dialect spells as a "formula".
void expandFunctions(mlir::Operation *root, const TensorDialect &d);

} // namespace ltc::compiler
