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

/// Stores a value (a dense memref's address, or a scalar) as words[index].
void storeWord(mlir::ImplicitLocOpBuilder &b, mlir::Value words, int64_t index,
               mlir::Value value);
/// Loads words[index] as a value of that type; `sizes` as in memrefAt().
mlir::Value loadWord(mlir::ImplicitLocOpBuilder &b, mlir::Value words,
                     int64_t index, mlir::Type type,
                     mlir::ArrayAttr sizes = {});

/// A dense memref of that type at an address; `sizes` say its sizes if some
/// are symbolic. A memref<?xi8> without is given an unknown, huge size.
mlir::Value memrefAt(mlir::ImplicitLocOpBuilder &b, mlir::Value pointer,
                     mlir::Type type, mlir::ArrayAttr sizes = {});
/// The address of a memref's first element, as i64.
mlir::Value addressOf(mlir::ImplicitLocOpBuilder &b, mlir::Value memref);

} // namespace ltc::compiler
