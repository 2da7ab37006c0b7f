//===- horizontal_fusion.cpp - Sums over the same elements as one ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a norm's scale and shift are two sums along the same columns
// of the same tensor. As two results of one loop they read it once.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/combiner.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"
#include "mlir_lowering/optimize/matrix_product.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

bool isCandidate(GenericOp op, const TargetFacts &facts) {
  if (facts.matrix_work != 0 && MatrixProduct::of(op))
    return false;
  return op.getNumReductionLoops() != 0 && !op.hasIndexSemantics() &&
         largestInput(op) &&
         !llvm::is_contained(loopSizes(op), ShapedType::kDynamic);
}

/// What an op reads, in its body too.
llvm::SetVector<Value> readsOf(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// Whether a value is known at `place`, or can be: what a sum starts from.
bool isKnownAt(Value value, Operation *place) {
  Operation *def = value.getDefiningOp();
  if (!def || def->isBeforeInBlock(place))
    return true;
  return (isa<tensor::EmptyOp, arith::ConstantOp>(def) || isFill(def)) &&
         llvm::all_of(readsOf(def),
                      [&](Value read) { return isKnownAt(read, place); });
}

void makeKnownAt(Value value, Operation *place) {
  Operation *def = value.getDefiningOp();
  if (!def || def->isBeforeInBlock(place))
    return;
  for (Value read : readsOf(def))
    makeKnownAt(read, place);
  def->moveBefore(place);
}

/// Two ops with one largest input as one op: where the first stands, if all
/// that the second reads is known there, or else where the second does, if
/// nobody wants results before.
class SumPair {
public:
  SumPair(GenericOp first, GenericOp second, const TargetFacts &facts)
      : first(first), second(second), facts(facts) {}

  bool match() {
    return first.getIteratorTypesArray() == second.getIteratorTypesArray() &&
           loopSizes(first) == loopSizes(second) &&
           first->getNumResults() + second->getNumResults() <=
               size_t(facts.sums_at_once) &&
           pointCost(first) + pointCost(second) <= facts.unroll_cost &&
           first.getMatchingIndexingMap(largestInput(first)) ==
               second.getMatchingIndexingMap(largestInput(second)) &&
           isSum(first) && isSum(second);
  }

  /// The op that takes their place; null if they have to stay apart.
  GenericOp merge(func::FuncOp main) {
    Block &body = main.getBody().front();
    bool early = llvm::all_of(
        readsOf(second), [&](Value value) { return isKnownAt(value, first); });
    bool late = llvm::all_of(first->getUsers(), [&](Operation *user) {
      return second->isBeforeInBlock(body.findAncestorOpInBlock(*user));
    });
    if (early) {
      for (Value value : readsOf(second))
        makeKnownAt(value, first);
      return make(first);
    }
    if (late && !wouldHoldMuch(first.getOperation(), second, facts))
      return make(second);
    return {};
  }

private:
  static bool isSum(GenericOp op) {
    auto folding = Folding::of(op);
    return folding && !folding->isChoice();
  }

  GenericOp make(Operation *place) {
    ImplicitLocOpBuilder b(second.getLoc(), place);
    SmallVector<Value> inputs = llvm::to_vector(first.getDpsInputs());
    SmallVector<AffineMap> maps = mapsOf(first.getDpsInputOperands(), first);
    SmallVector<unsigned> places; // of the second op's inputs
    for (OpOperand *input : second.getDpsInputOperands()) {
      AffineMap map = second.getMatchingIndexingMap(input);
      unsigned at = 0;
      while (at < inputs.size() &&
             (inputs[at] != input->get() || maps[at] != map))
        ++at;
      if (at == inputs.size()) {
        inputs.push_back(input->get());
        maps.push_back(map);
      }
      places.push_back(at);
    }
    SmallVector<Value> inits = llvm::to_vector(first.getDpsInits());
    llvm::append_range(inits, second.getDpsInits());
    for (GenericOp op : {first, second})
      for (OpOperand &init : op.getDpsInitsMutable())
        maps.push_back(op.getMatchingIndexingMap(&init));

    auto merged = GenericOp::create(
        b, TypeRange(ValueRange(inits)), inputs, inits, maps,
        first.getIteratorTypesArray(),
        [&](OpBuilder &nested, Location loc, ValueRange arguments) {
          ValueRange sums = arguments.drop_front(inputs.size());
          SmallVector<Value> own =
              llvm::to_vector(arguments.take_front(first.getNumDpsInputs()));
          llvm::append_range(own, sums.take_front(first.getNumDpsInits()));
          SmallVector<Value> results = clone(nested, first, own);
          own.clear();
          for (unsigned at : places)
            own.push_back(arguments[at]);
          llvm::append_range(own, sums.take_back(second.getNumDpsInits()));
          llvm::append_range(results, clone(nested, second, own));
          linalg::YieldOp::create(nested, loc, results);
        });
    first->replaceAllUsesWith(
        merged.getResults().take_front(first->getNumResults()));
    second->replaceAllUsesWith(
        merged.getResults().take_back(second->getNumResults()));
    first->erase();
    second->erase();
    return merged;
  }

  static SmallVector<AffineMap> mapsOf(ArrayRef<OpOperand *> operands,
                                       GenericOp op) {
    return llvm::map_to_vector(operands, [&](OpOperand *operand) {
      return op.getMatchingIndexingMap(operand);
    });
  }

  /// An op's body with these arguments; returns what it yields.
  static SmallVector<Value> clone(OpBuilder &b, GenericOp op,
                                  ArrayRef<Value> arguments) {
    IRMapping map;
    map.map(op.getBody()->getArguments(), arguments);
    for (Operation &inner : op.getBody()->without_terminator())
      b.clone(inner, map);
    return llvm::map_to_vector(
        op.getBody()->getTerminator()->getOperands(),
        [&](Value value) { return map.lookupOrDefault(value); });
  }

  GenericOp first, second;
  const TargetFacts &facts;
};

} // namespace

LogicalResult fuseHorizontally(func::FuncOp main,
                               const OptimizeOptions &options) {
  if (!options.optimizations.fuse)
    return success();
  const TargetFacts &facts = options.tuning.facts;
  llvm::DenseMap<Value, SmallVector<GenericOp>> readers;
  for (GenericOp op : llvm::to_vector(main.getOps<GenericOp>())) {
    if (!isCandidate(op, facts))
      continue;
    SmallVector<GenericOp> &others = readers[largestInput(op)->get()];
    for (GenericOp &other : others) {
      SumPair pair(other, op, facts);
      if (!isCandidate(other, facts) || !pair.match())
        continue;
      if (GenericOp merged = pair.merge(main)) {
        op = other = merged;
        break;
      }
    }
    if (!llvm::is_contained(others, op))
      others.push_back(op);
  }
  return success();
}

} // namespace ltc::compiler
