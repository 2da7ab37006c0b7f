//===- extreme.h - The ends of a dtype --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/value.h"

namespace ltc::compiler {

/// The least (or greatest) value of a dtype.
Value extreme(DType dtype, bool least);

} // namespace ltc::compiler
