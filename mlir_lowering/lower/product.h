//===- product.h - Products as loops ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/emit.h"

namespace ltc::compiler {

/// What a product of matrices or vectors gives, as a loop that adds up; absent
/// if the op is none of at most `mostPoints` multiplications, of known sizes
/// and a dtype with arithmetic.
Value lowerProduct(Emit &e, const OpCall &op, int64_t mostPoints);

} // namespace ltc::compiler
