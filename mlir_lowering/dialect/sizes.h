//===- sizes.h - Which formula a `?` stands for -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph's symbolic size is a `?` in a tensor type. Code computes with it as
// the result of ltc.size; a function's arguments and an ltc.op's results say
// theirs in the attribute ltc.sizes. For every other tensor the op that makes
// it tells. Passes speak of sizes as int64_t: numbers or symbolic ones, see
// SizeTable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir_lowering/dialect/size_table.h"

namespace ltc::compiler {

SizeTable &sizeTable(mlir::MLIRContext *context);
/// Takes the hints of symbols from a module that has them as an attribute.
void readHints(mlir::Operation *module);

/// The size of a tensor's dimension; ShapedType::kDynamic if nothing says it.
int64_t sizeOf(mlir::Value tensor, int64_t dim);
llvm::SmallVector<int64_t> sizesOf(mlir::Value tensor);
/// Whether a value is a tensor of which a size is symbolic.
bool hasSymbolicSize(mlir::Value value);
/// Of a value or attribute that stands for a size; kDynamic as above.
int64_t sizeOf(mlir::OpFoldResult size);

int64_t productOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> sizes);
int64_t sumOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> sizes);

/// A size for an op to take: an index attribute, or an ltc.size made here. Of
/// kDynamic it makes one that no stage lets pass.
mlir::OpFoldResult sizeValue(mlir::OpBuilder &b, mlir::Location loc,
                             int64_t size);
llvm::SmallVector<mlir::OpFoldResult> sizeValues(mlir::OpBuilder &b,
                                                 mlir::Location loc,
                                                 llvm::ArrayRef<int64_t> sizes);
/// Sizes with `?` for those that are symbolic.
mlir::RankedTensorType shapedAs(llvm::ArrayRef<int64_t> sizes,
                                mlir::Type element);

/// An integer attribute or #ltc.size.
mlir::Attribute sizeAttr(mlir::Builder b, int64_t size);
mlir::ArrayAttr sizesAttr(mlir::Builder b, llvm::ArrayRef<int64_t> sizes);
llvm::SmallVector<int64_t> sizesIn(mlir::ArrayAttr sizes);

} // namespace ltc::compiler
