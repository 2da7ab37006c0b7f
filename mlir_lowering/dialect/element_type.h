//===- element_type.h - ltc::DType as MLIR element types --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ltc::compiler {

/// The type of an element in memory: i8 for bool, signless integers.
mlir::Type memoryType(mlir::MLIRContext *context, DType dtype);
/// The type of an element in a computation: i1 for bool, else as in memory.
mlir::Type elementType(mlir::MLIRContext *context, DType dtype);
/// What an element of a tensor takes in memory. Of memory types only.
int64_t elementBytes(mlir::Type type);
/// The type of a graph value: a tensor of memory types, or f64, i64, i1.
mlir::Type valueType(mlir::MLIRContext *context, const ValueType &type);
mlir::RankedTensorType tensorType(mlir::MLIRContext *context,
                                  const TensorType &type);

/// The dtype that a tensor or scalar type stands for when nothing else is
/// said: i8 is I8. None for a type that no dtype has.
std::optional<DType> impliedDType(mlir::Type type);

/// Reverse of valueType(), given the dtype.
ValueType graphType(mlir::Type type, DType dtype);

} // namespace ltc::compiler
