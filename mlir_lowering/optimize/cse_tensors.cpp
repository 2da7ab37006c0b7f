//===- cse_tensors.cpp - Equal loops on tensors as one ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ltc::compiler {

/// Of what a value is computed from, a few ops deep.
static llvm::hash_code hashOf(Value value, unsigned depth = 4) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return llvm::hash_combine(argument.getArgNumber());
  Operation *op = value.getDefiningOp();
  llvm::hash_code hash = llvm::hash_combine(
      op->getName(), op->hashProperties(), op->getRawDictionaryAttrs(),
      cast<OpResult>(value).getResultNumber());
  for (Value operand : op->getOperands())
    if (depth)
      hash = llvm::hash_combine(hash, hashOf(operand, depth - 1));
  return hash;
}

/// CSE finds equal ops by a hash that knows nothing of their regions. Of loops
/// over one tensor that differ in a captured scalar it would compare each with
/// each: 46 s for 10,000 of them.
static void markCaptures(func::FuncOp function, StringRef mark) {
  Builder b(function.getContext());
  for (auto op : function.getOps<linalg::GenericOp>()) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::hash_code hash(0);
    for (Value value : captured)
      hash = llvm::hash_combine(hash, hashOf(value));
    op->setAttr(mark, b.getI64IntegerAttr(int64_t(size_t(hash))));
  }
}

LogicalResult mergeEqualLoops(func::FuncOp main, const OptimizeOptions &) {
  constexpr llvm::StringLiteral mark = "ltc.captures";
  markCaptures(main, mark);
  IRRewriter rewriter(main.getContext());
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, main);
  for (auto op : main.getOps<linalg::GenericOp>())
    op->removeAttr(mark);
  return success();
}

} // namespace ltc::compiler
