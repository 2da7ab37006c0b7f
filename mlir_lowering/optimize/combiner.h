//===- combiner.h - What a reduction folds with -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

/// An associative op with a neutral element, on one element type.
struct Combiner {
  mlir::vector::CombiningKind kind;
  mlir::Type type;
};

/// Finds how each result of a reduction is folded; false if one is folded in
/// another way, such as the index of a maximum.
bool combinersOf(mlir::linalg::GenericOp op,
                 llvm::SmallVectorImpl<Combiner> &combiners);

mlir::Value neutralVector(mlir::ImplicitLocOpBuilder &b, Combiner combiner,
                          int64_t lanes);
/// Of two vectors or two scalars.
mlir::Value combine(mlir::ImplicitLocOpBuilder &b, Combiner combiner,
                    mlir::Value left, mlir::Value right);
/// All lanes of a vector as one scalar.
mlir::Value foldVector(mlir::ImplicitLocOpBuilder &b, Combiner combiner,
                       mlir::Value vector);

} // namespace ltc::compiler
