//===- in_place.h - Kernels that may overwrite an operand -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ltc::compiler {

/// Whether two parts of tensors of one shape are known to have no place in
/// common.
bool areApart(mlir::OffsetSizeAndStrideOpInterface a,
              mlir::OffsetSizeAndStrideOpInterface b);

/// Whether a value is a part of the tensor that an insert writes to, without an
/// element of the part that is written.
bool liesBeside(mlir::Value part, mlir::tensor::InsertSliceOp insert);

/// Sets attr::kInPlace and attr::kUpdates on a kernel that is on tensors and
/// not tiled yet; the first one empty unless `mayOverwrite`.
void markSharedBuffers(mlir::func::FuncOp kernel, bool mayOverwrite);

/// On memrefs: gives what a kernel reads of a tensor beside the part that makes
/// it `updated` a name of its own, so that nothing is copied for fear of
/// writes.
void separateReads(mlir::OpBuilder &b, mlir::bufferization::ToTensorOp whole,
                   mlir::Value updated);

} // namespace ltc::compiler
