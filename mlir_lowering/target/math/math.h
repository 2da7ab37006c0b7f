//===- math.h - Functions of numbers as polynomials -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace ltc::compiler {

/// Replaces functions of the math dialect by polynomials where these are as
/// good as the C library's.
mlir::LogicalResult approximateMath(mlir::ModuleOp module, unsigned vectorBits);

} // namespace ltc::compiler
