//===- cost.h - What a linalg op costs --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// Cost of one point of the iteration space; 1 is an addition.
int64_t pointCost(mlir::linalg::LinalgOp op);
/// Number of points; INT64_MAX when a range is dynamic.
int64_t iterations(mlir::linalg::LinalgOp op);
/// Elements of a static tensor; INT64_MAX for a dynamic one.
int64_t elementCount(mlir::Type type);

} // namespace ltc::compiler
