//===- scatter.h - Writes at computed positions -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/emit.h"

namespace ltc::compiler {

/// What an op gives that puts or adds elements where indices say, by a call of
/// `ltc::scatter_rows` (dialect/scatter_rows.h); absent if it is no such op, or
/// the library does better.
Value lowerScatter(Emit &e, const OpCall &op);

} // namespace ltc::compiler
