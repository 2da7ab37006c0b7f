//===- online_sum.cpp - A maximum and a sum below it in one read ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log softmax wants a row's maximum, then the sum of exponentials of what
// lies below it. Of a row that registers do not hold, each thread keeps the
// maximum so far, and the sum below that; a new maximum scales the sum. Four
// vectors at a time share that work. A row of infinities alone sums up to NaN,
// as in two reads.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

static constexpr int64_t kTogether = 4; ///< vectors
/// Longer rows would add up more terms one by one than a sum may.
static constexpr int64_t kLongest = int64_t(1) << 18;

/// Whether two memrefs are the same part of the same memory.
static bool areAlike(Value left, Value right) {
  if (left == right)
    return true;
  auto one = left.getDefiningOp<memref::SubViewOp>();
  auto other = right.getDefiningOp<memref::SubViewOp>();
  return one && other && one.getType() == other.getType() &&
         one.getSource() == other.getSource() &&
         one.getMixedOffsets() == other.getMixedOffsets() &&
         one.getMixedSizes() == other.getMixedSizes() &&
         one.getMixedStrides() == other.getMixedStrides();
}

/// The input of an op that is the other op's input of that number, or -1.
static int inputLike(GenericOp op, GenericOp other, unsigned number) {
  OpOperand &wanted = other->getOpOperand(number);
  for (OpOperand *input : op.getDpsInputOperands())
    if (areAlike(input->get(), wanted.get()) &&
        op.getMatchingIndexingMap(input) ==
            other.getMatchingIndexingMap(&wanted))
      return int(input->getOperandNumber());
  return -1;
}

/// Whether two bodies compute the same there, of the same elements.
static bool computeAlike(GenericOp op, Value value, GenericOp other,
                         Value wanted) {
  if (value.getType() != wanted.getType())
    return false;
  auto argument = dyn_cast<BlockArgument>(wanted);
  if (argument && argument.getOwner() == other.getBody()) {
    unsigned number = argument.getArgNumber();
    int input = number < unsigned(other.getNumDpsInputs())
                    ? inputLike(op, other, number)
                    : -1;
    return input >= 0 && value == op.getBody()->getArgument(unsigned(input));
  }
  if (value == wanted)
    return true; // from outside
  Operation *one = value.getDefiningOp(), *two = wanted.getDefiningOp();
  return one && two && one->getName() == two->getName() &&
         one->getBlock() == op.getBody() &&
         one->getAttrDictionary() == two->getAttrDictionary() &&
         one->getPropertiesAsAttribute() == two->getPropertiesAsAttribute() &&
         one->getNumRegions() == 0 && isPure(one) &&
         one->getNumOperands() == two->getNumOperands() &&
         llvm::all_of(llvm::zip_equal(one->getOperands(), two->getOperands()),
                      [&](auto operands) {
                        return computeAlike(op, std::get<0>(operands), other,
                                            std::get<1>(operands));
                      });
}

/// What an op with one result folds into it by a `Fold`, or null.
template <typename Fold> static Value foldedBy(GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return {};
  Value result = op.getBody()->getArguments().back();
  auto fold =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp<Fold>();
  if (!fold || !result.hasOneUse())
    return {};
  if (fold.getLhs() == result)
    return fold.getRhs();
  return fold.getRhs() == result ? fold.getLhs() : Value();
}

/// The operand of a sum of exponentials that is `max`'s maximum of the same
/// row, below which they are; or -1.
static int maximumOf(GenericOp sum, GenericOp max) {
  Value most = foldedBy<arith::MaximumFOp>(max);
  Value term = most ? foldedBy<arith::AddFOp>(sum) : Value();
  auto exp = term ? term.getDefiningOp<math::ExpOp>() : math::ExpOp();
  auto below =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  auto argument =
      below ? dyn_cast<BlockArgument>(below.getRhs()) : BlockArgument();
  if (!argument || argument.getOwner() != sum.getBody() ||
      !argument.hasOneUse() ||
      argument.getArgNumber() >= unsigned(sum.getNumDpsInputs()))
    return -1;
  unsigned number = argument.getArgNumber();
  bool isOurs = sum->getOperand(number) == max.getDpsInits()[0] &&
                computeAlike(sum, below.getLhs(), max, most);
  return isOurs ? int(number) : -1;
}

GenericOp sumBelow(GenericOp max, ArrayRef<GenericOp> behind) {
  for (GenericOp op : behind) {
    if (op->getBlock() != max->getBlock())
      return {};
    if (maximumOf(op, max) >= 0)
      return op;
    if (op.getNumDpsInputs() != 0)
      return {}; // more than what a sum starts from
  }
  return {};
}

bool BlockNest::isBelow(BlockNest &max) {
  for (BlockNest *each : {this, &max})
    if (each->foldLoop < 0 || each->vectorLoop != each->foldLoop ||
        each->nest.loops.size() != 1 || each->ownSharing() ||
        each->nest.loops.front().extent > kLongest ||
        ShapedType::isDynamic(each->nest.loops.front().extent))
      return false;
  return lanes == max.lanes && isUniform(unsigned(maximumOf(op, max.op)));
}

/// What exponentials are taken below: not below an infinity, which all of them
/// so far are.
static Value levelOf(ImplicitLocOpBuilder &b, Value most) {
  Type type = most.getType();
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  Value none = arith::ConstantOp::create(
      b, b.getFloatAttr(type, APFloat::getInf(semantics, /*Negative=*/true)));
  Value zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0.0));
  Value isNone =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, most, none);
  return arith::SelectOp::create(b, isNone, zero, most);
}

/// What a sum below one maximum is multiplied by to be one below another.
static Value scaleTo(ImplicitLocOpBuilder &b, Value from, Value to) {
  Value one = arith::ConstantOp::create(b, b.getFloatAttr(from.getType(), 1.0));
  Value below = arith::SubFOp::create(b, from, levelOf(b, to));
  Value isSame = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, from, to);
  return arith::SelectOp::create(b, isSame, one, math::ExpOp::create(b, below));
}

static Value scaled(ImplicitLocOpBuilder &b, Value sum, Value by) {
  if (auto type = dyn_cast<VectorType>(sum.getType()))
    by = vector::BroadcastOp::create(b, type, by);
  return arith::MulFOp::create(b, sum, by);
}

SmallVector<BlockNest::Values> BlockNest::loadRow(ArrayRef<Value> places) {
  SmallVector<Values> loaded;
  for (Value place : places) {
    Step step(*this, vectorLoop, place);
    Values &values = loaded.emplace_back(op->getNumOperands());
    for (unsigned i = 0; i < inputs; ++i) {
      const Access &access = nest.accesses[i];
      if (isUniform(i) || op.getBody()->getArgument(i).use_empty())
        continue;
      values[i] =
          loadVector(b, access.base, position[i], 1, lanes, /*mask=*/Value());
      if (auto load = values[i].getDefiningOp<vector::LoadOp>();
          load && isPeeled())
        load.setAlignment(lanes *
                          elementBytes(getElementTypeOrSelf(access.base)));
    }
  }
  return loaded;
}

/// The maximum so far and the sum below it, with some vectors more, or a single
/// element.
BlockNest::Values BlockNest::seeBelow(BlockNest &max, ArrayRef<Value> seen,
                                      ArrayRef<Value> places, bool isVector) {
  max.b.restoreInsertionPoint(b.saveInsertionPoint());
  auto loaded = isVector ? loadRow(places)
                         : SmallVector<Values>{Values(op->getNumOperands())};
  const Folding &folding = *max.choice.folding;
  Values most{seen[0]};
  if (isVector)
    most = folding.start(b, most, lanes);
  for (auto [place, values] : llvm::zip_equal(places, loaded)) {
    Step step(max, max.vectorLoop, place);
    Values shared(max.op->getNumOperands());
    for (unsigned i = 0; i < max.inputs; ++i)
      if (int like = inputLike(op, max.op, i); like >= 0)
        shared[i] = values[size_t(like)];
    most = isVector ? max.vectorBody(Value(), most, shared)
                    : max.scalarBody(most, shared);
  }
  if (isVector)
    most = folding.merge(b, seen.take_front(), folding.foldLanes(b, most));
  Value sum = scaled(b, seen[1], scaleTo(b, seen[0], most[0]));
  Value level = levelOf(b, most[0]);
  for (auto [place, values] : llvm::zip_equal(places, loaded)) {
    Step step(*this, vectorLoop, place);
    values[size_t(maximumOf(op, max.op))] = level;
    sum = isVector ? vectorBody(Value(), {sum}, values)[0]
                   : scalarBody(sum, values)[0];
  }
  return {most[0], sum};
}

/// What a thread sees of the row's vectors.
BlockNest::Values BlockNest::seeVectors(BlockNest &max, Values seen, Value from,
                                        Value vectors) {
  int64_t turn = threads * lanes;
  Value thread = arith::MulIOp::create(b, threadId(), index(lanes));
  Value together = index(turn * kTogether);
  Value rest = b.createOrFold<arith::RemUIOp>(vectors, together);
  Value whole = b.createOrFold<arith::SubIOp>(vectors, rest);
  Value middle = b.createOrFold<arith::AddIOp>(from, whole);
  Value end = b.createOrFold<arith::AddIOp>(from, vectors);
  Value first = arith::AddIOp::create(b, from, thread);
  seen = forLoop(first, middle, turn * kTogether, seen,
                 [&](Value iv, ValueRange seen) {
                   Values places;
                   for (int64_t i = 0; i < kTogether; ++i)
                     places.push_back(plus(iv, i * turn));
                   return seeBelow(max, llvm::to_vector(seen), places, true);
                 });
  first = arith::AddIOp::create(b, middle, thread);
  return forLoop(first, end, turn, seen, [&](Value iv, ValueRange seen) {
    return seeBelow(max, llvm::to_vector(seen), {iv}, true);
  });
}

void BlockNest::runBelow(BlockNest &max) {
  SmallVector<Registers::Use> all = max.uses();
  for (const Registers::Use &use : uses())
    if (use.memref != max.op.getDpsInits()[0])
      all.push_back(use);
  registers.enter(op, all);
  b.setInsertionPoint(op);
  max.b.setInsertionPoint(op);
  Value most = max.loadUniform(max.inputs), init = loadUniform(inputs);
  const Folding &folding = *choice.folding;
  Values seen{most, folding.start(b, {init}, lanes)[0]};
  if (isPeeled()) {
    Peeled row = peel();
    seen = seeVectors(max, seen, row.head, row.vectors);
    seen[1] = folding.foldLanes(b, {seen[1]})[0];
    seen = forLoop(
        threadId(), row.singles, threads, seen, [&](Value iv, ValueRange seen) {
          Value place = row.placeOf(b, iv);
          return seeBelow(max, llvm::to_vector(seen), {place}, false);
        });
  } else {
    seen = seeVectors(max, seen, index(0), extentOf(vectorLoop));
    seen[1] = folding.foldLanes(b, {seen[1]})[0];
  }
  max.b.restoreInsertionPoint(b.saveInsertionPoint());
  most = max.foldBlock({seen[0]})[0];
  Value sum = scaled(b, seen[1], scaleTo(b, seen[0], most));
  sum = folding.merge(b, {init}, foldBlock({sum}))[0];
  // NaN, unless the maximum is a number.
  Value nothing = arith::SubFOp::create(b, most, most);
  sum = arith::AddFOp::create(b, sum, nothing);
  max.storeUniform({most});
  storeUniform({sum});
  max.op.erase();
  op.erase();
}

} // namespace ltc::compiler
