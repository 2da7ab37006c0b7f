//===- sum_one_hot.h - Sums of rows that are zero but for one ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// Makes an op in front of `sum` that has the same results without a loop, if
/// what it adds up is zero but for an element of each row; else none.
mlir::linalg::GenericOp sumOneHot(mlir::RewriterBase &rewriter,
                                  mlir::linalg::GenericOp sum);

} // namespace ltc::compiler
