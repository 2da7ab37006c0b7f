//===- concat.h - Concatenations, as inserts spell them ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ltc::compiler {

/// Inserts, in order, that fill a new tensor along one dimension.
struct Concat {
  llvm::SmallVector<mlir::tensor::InsertSliceOp> parts;
  int64_t dim = 0;
};

/// The only dimension in which a part is smaller than the whole, or does not
/// begin where that does.
std::optional<int64_t> partialDim(mlir::tensor::InsertSliceOp part);

/// The concatenation whose last part `last` writes, if every other insert is
/// read by the next one alone.
std::optional<Concat> concatOf(mlir::tensor::InsertSliceOp last);

} // namespace ltc::compiler
