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
#include "llvm/ADT/SetVector.h"

namespace ltc::compiler {

/// How a reduction puts partial results together: an associative op with a
/// neutral element for each result, or a choice between all of one side and
/// all of the other, as of a maximum with its index. Refers to the op's body.
class Folding {
public:
  /// Nothing if the op folds in another way, or depends on the order.
  static std::optional<Folding> of(mlir::linalg::GenericOp op);

  bool isChoice() const { return combiners.empty(); }
  /// Whether the order of the terms shows in the last digits: floats are added.
  bool rounds() const;

  using Values = llvm::SmallVector<mlir::Value>;
  /// What changes nothing, as scalars or vectors; not of a choice.
  Values neutral(mlir::ImplicitLocOpBuilder &b, mlir::TypeRange types) const;
  /// What each result starts from in each lane; `inits` are scalars that are
  /// folded in at the end, if not here.
  Values start(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
               int64_t lanes) const;
  /// Of all results, as vectors or as scalars.
  Values merge(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange left,
               mlir::ValueRange right) const;
  /// All lanes of each result's vector as one scalar.
  Values foldLanes(mlir::ImplicitLocOpBuilder &b,
                   mlir::ValueRange vectors) const;

private:
  struct Combiner {
    mlir::vector::CombiningKind kind;
    mlir::Type type;
  };
  bool findCombiners(mlir::linalg::GenericOp op);
  bool findChoice(mlir::linalg::GenericOp op);
  bool collectCondition(mlir::linalg::GenericOp op, mlir::Value value);

  llvm::SmallVector<Combiner> combiners; ///< one a result, or none: a choice
  llvm::SmallVector<mlir::Value> offered, held; ///< of a choice, each result's
  mlir::Value takesOffered;
  llvm::SetVector<mlir::Operation *> condition; ///< what computes it, in order
};

} // namespace ltc::compiler
