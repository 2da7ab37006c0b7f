//===- lower.h - ltc.op to linalg and library calls -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/optimizations.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Operation.h"
#include "mlir_lowering/lower/product.h"

namespace ltc::compiler {

class OpOp;
class OpTable;
class Tuning;

/// What a target's loops do of what the library could.
struct OwnLoops {
  Products products;
  bool scatters = false; ///< writes at computed positions

  static OwnLoops of(const Tuning &tuning);
};

/// Replaces every ltc.op below `root`: by its row's linalg where a row accepts
/// it, by ltc.call otherwise. Removes what nothing uses. Fails, with a
/// diagnostic at the op, only when a row and the recorded types disagree.
mlir::LogicalResult lowerOps(mlir::Operation *root,
                             const Optimizations &optimizations = {},
                             OwnLoops own = {});

/// An op's results by its row, its user's lowering or as a product, built
/// before it; none where there is no such. `further` has rows for ops that
/// `OpTable::get()` has none for. Fails as lowerOps() does.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
lowerByRow(mlir::ImplicitLocOpBuilder &b, OpOp op, const Products &products,
           const OpTable *further = nullptr);

/// Removes what nothing uses.
void eraseDead(mlir::Operation *root);

/// Registers lowerOps() as the pass `ltc-lower`.
void registerLowerPass(const Optimizations &optimizations, OwnLoops own);

/// The dialects that lowered code uses.
void registerLoweredDialects(mlir::DialectRegistry &registry);

} // namespace ltc::compiler
