//===- words.h - Arguments as 64-bit words ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and library calls take their arguments as an array of words: the
// address of dense memory, or a scalar's bits from the lowest byte on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

/// Loads words[index] as a value of that type. A memref is dense; `sizes` say
/// its sizes if some are symbolic, and one of bytes without is as large as can
/// be. Its address is a multiple of `alignment`.
mlir::Value loadWord(mlir::ImplicitLocOpBuilder &b, mlir::Value words,
                     int64_t index, mlir::Type type, mlir::ArrayAttr sizes = {},
                     int64_t alignment = 1);

} // namespace ltc::compiler
