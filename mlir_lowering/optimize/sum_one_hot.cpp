//===- sum_one_hot.cpp - Sums of rows that are zero but for an element ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a loss by classes is zero but where the target's class is, as
// is a tensor that was compared with its own positions. The sum of such a row
// is that element: no loop, and nobody has to store the row for it.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/sum_one_hot.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

/// A loop nest whose result is zero but where the number of `loop` is `place`
/// and `conditions` hold.
class OneHot {
public:
  OneHot(GenericOp op, unsigned loop) : op(op), loop(loop) {}

  bool match() {
    if (op.getNumParallelLoops() != op.getNumLoops() ||
        op->getNumResults() != 1 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
        ShapedType::isDynamic(op.getStaticLoopRanges()[loop]) || !findVarying())
      return false;
    Value value = op.getBody()->getTerminator()->getOperand(0);
    while (Operation *cast = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
        break;
      casts.push_back(cast);
      value = cast->getOperand(0);
    }
    choice = value.getDefiningOp<arith::SelectOp>();
    return choice && !varying.contains(choice.getTrueValue()) &&
           (matchPattern(choice.getFalseValue(), m_PosZeroFloat()) ||
            matchPattern(choice.getFalseValue(), m_Zero())) &&
           split(choice.getCondition()) && place;
  }

  /// Writes what the element is behind a copy of what it takes.
  Value emit(OpBuilder &b, IRMapping &map) {
    Location loc = op.getLoc();
    for (Operation &inner : op.getBody()->without_terminator()) {
      auto index = dyn_cast<linalg::IndexOp>(inner);
      if (index && index.getDim() != loop)
        map.map(index.getResult(),
                linalg::IndexOp::create(
                    b, loc, index.getDim() - (index.getDim() > loop)));
      else if (!index && !llvm::any_of(inner.getResults(), [&](Value value) {
                 return varying.contains(value);
               }))
        b.clone(inner, map);
    }
    Value at = map.lookupOrDefault(place);
    auto extent =
        b.getIntegerAttr(at.getType(), op.getStaticLoopRanges()[loop]);
    Value holds =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                              arith::ConstantOp::create(b, loc, extent));
    for (Value condition : conditions)
      holds =
          arith::AndIOp::create(b, loc, holds, map.lookupOrDefault(condition));
    Value value = arith::SelectOp::create(
        b, loc, holds, map.lookupOrDefault(choice.getTrueValue()),
        map.lookupOrDefault(choice.getFalseValue()));
    for (Operation *cast : llvm::reverse(casts)) {
      map.map(cast->getOperand(0), value);
      value = b.clone(*cast, map)->getResult(0);
    }
    return value;
  }

private:
  /// Finds what depends on the number of the loop.
  bool findVarying() {
    for (OpOperand &operand : op->getOpOperands())
      if (op.isDpsInit(&operand)) {
        if (!op.getMatchingBlockArgument(&operand).use_empty())
          return false;
      } else if (op.getMatchingIndexingMap(&operand).isFunctionOfDim(loop)) {
        varying.insert(op.getMatchingBlockArgument(&operand));
      }
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (inner.getNumRegions() != 0)
        return false;
      auto index = dyn_cast<linalg::IndexOp>(inner);
      if ((index && index.getDim() == loop) ||
          llvm::any_of(inner.getOperands(),
                       [&](Value value) { return varying.contains(value); })) {
        if (!isPure(&inner))
          return false;
        varying.insert_range(inner.getResults());
      }
    }
    return true;
  }

  /// Takes a condition apart: one says where, and none else varies.
  bool split(Value condition) {
    if (!varying.contains(condition)) {
      conditions.push_back(condition);
      return true;
    }
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return split(both.getLhs()) && split(both.getRhs());
    auto equal = condition.getDefiningOp<arith::CmpIOp>();
    if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq || place)
      return false;
    for (auto [number, other] : {std::pair(equal.getLhs(), equal.getRhs()),
                                 std::pair(equal.getRhs(), equal.getLhs())}) {
      auto index = withoutCasts(number).getDefiningOp<linalg::IndexOp>();
      if (index && index.getDim() == loop && !varying.contains(other) &&
          (other.getType().isIndex() || other.getType().isInteger(64)))
        place = other;
    }
    return bool(place);
  }

  GenericOp op;
  unsigned loop;
  llvm::SmallDenseSet<Value, 16> varying;
  SmallVector<Operation *> casts; ///< of the element, the last one first
  arith::SelectOp choice;
  Value place;
  SmallVector<Value> conditions;
};

/// The loop along which an op adds up its only input; -1 if it does not.
int summedLoop(GenericOp op) {
  if (op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 1 ||
      op->getNumOperands() != 2 ||
      !op.getIndexingMapsArray().front().isIdentity())
    return -1;
  Block *body = op.getBody();
  Operation *add = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(add) ||
      body->getOperations().size() != 2)
    return -1;
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return int(loops.front());
}

} // namespace

GenericOp sumOneHot(RewriterBase &rewriter, GenericOp sum) {
  int loop = summedLoop(sum);
  auto producer = loop < 0
                      ? GenericOp()
                      : sum.getDpsInputs().front().getDefiningOp<GenericOp>();
  if (!producer || producer->getBlock() != sum->getBlock())
    return {};
  OneHot oneHot(producer, unsigned(loop));
  if (!oneHot.match())
    return {};
  AffineExpr nowhere = rewriter.getAffineConstantExpr(0);
  SmallVector<AffineExpr> renumbered;
  unsigned kept = 0;
  for (unsigned i = 0; i < sum.getNumLoops(); ++i)
    renumbered.push_back(int(i) == loop ? nowhere
                                        : rewriter.getAffineDimExpr(kept++));
  auto without = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(renumbered, {}, kept, 0);
  };
  SmallVector<Value> inputs, wanted;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    AffineMap map = producer.getMatchingIndexingMap(input);
    if (map.isFunctionOfDim(unsigned(loop)))
      continue; // of no use to the element
    inputs.push_back(input->get());
    wanted.push_back(producer.getMatchingBlockArgument(input));
    maps.push_back(without(map));
  }
  maps.push_back(without(sum.getIndexingMapsArray().back()));
  SmallVector<utils::IteratorType> loops(kept, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    IRMapping map, terms;
    map.map(wanted, arguments.drop_back());
    Value value = oneHot.emit(b, map);
    terms.map(sum.getBody()->getArgument(0), value);
    terms.map(sum.getBody()->getArgument(1), arguments.back());
    Operation *added = b.clone(sum.getBody()->front(), terms);
    linalg::YieldOp::create(b, loc, added->getResults());
  };
  rewriter.setInsertionPoint(sum);
  return GenericOp::create(rewriter, sum.getLoc(), sum->getResultTypes(),
                           inputs, sum.getDpsInits(), maps, loops, body);
}

} // namespace ltc::compiler
