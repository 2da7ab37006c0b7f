//===- combiner.cpp - What a reduction folds with ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using vector::CombiningKind;

namespace ltc::compiler {

static std::optional<CombiningKind> kindOf(Operation *op) {
  using Kind = std::optional<CombiningKind>;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return CombiningKind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto) { return CombiningKind::MUL; })
      .Case<arith::MaximumFOp>([](auto) { return CombiningKind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return CombiningKind::MINIMUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return CombiningKind::MAXNUMF; })
      .Case<arith::MinNumFOp>([](auto) { return CombiningKind::MINNUMF; })
      .Case<arith::MaxSIOp>([](auto) { return CombiningKind::MAXSI; })
      .Case<arith::MinSIOp>([](auto) { return CombiningKind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return CombiningKind::MAXUI; })
      .Case<arith::MinUIOp>([](auto) { return CombiningKind::MINUI; })
      .Case<arith::AndIOp>([](auto) { return CombiningKind::AND; })
      .Case<arith::OrIOp>([](auto) { return CombiningKind::OR; })
      .Case<arith::XOrIOp>([](auto) { return CombiningKind::XOR; })
      .Default([](Operation *) { return Kind(); });
}

bool Folding::findCombiners(linalg::GenericOp op) {
  Operation *yield = op.getBody()->getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    BlockArgument argument =
        op.getBody()->getArgument(op.getNumDpsInputs() + i);
    Operation *fold = value.getDefiningOp();
    if (!fold || fold->getBlock() != op.getBody() || !argument.hasOneUse() ||
        *argument.user_begin() != fold || !value.hasOneUse())
      return false;
    auto kind = kindOf(fold);
    if (!kind)
      return false;
    combiners.push_back({*kind, value.getType()});
  }
  return true;
}

/// Whether a value counts the iterations of a loop.
static bool isPosition(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value.getDefiningOp<linalg::IndexOp>() != nullptr;
}

/// Collects what computes the condition from the values on offer, those held
/// and constants, in order; false if it takes more than that.
bool Folding::collectCondition(linalg::GenericOp op, Value value) {
  if (llvm::is_contained(offered, value) || llvm::is_contained(held, value))
    return true;
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBody())
    return def && def->hasTrait<OpTrait::ConstantLike>();
  if (!def->hasTrait<OpTrait::ConstantLike>() &&
      !OpTrait::hasElementwiseMappableTraits(def))
    return false;
  for (Value operand : def->getOperands())
    if (!collectCondition(op, operand))
      return false;
  condition.insert(def);
  return true;
}

bool Folding::findChoice(linalg::GenericOp op) {
  unsigned inputs = op.getNumDpsInputs();
  auto yields = op.getBody()->getTerminator()->getOperands();
  for (auto [i, value] : llvm::enumerate(yields)) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select ||
        select.getFalseValue() != op.getBody()->getArgument(inputs + i) ||
        (takesOffered && takesOffered != select.getCondition()))
      return false;
    takesOffered = select.getCondition();
    offered.push_back(select.getTrueValue());
    held.push_back(select.getFalseValue());
  }
  if (!takesOffered || !collectCondition(op, takesOffered))
    return false;
  // Lanes meet in any order: of equals the first must win by its position.
  return llvm::any_of(condition, [&](Operation *inner) {
    auto compare = dyn_cast<arith::CmpIOp>(inner);
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
      return false;
    auto place = llvm::find(offered, compare.getLhs());
    return place != offered.end() && isPosition(*place) &&
           held[place - offered.begin()] == compare.getRhs();
  });
}

std::optional<Folding> Folding::of(linalg::GenericOp op) {
  Folding folding;
  if (folding.findCombiners(op))
    return folding;
  folding.combiners.clear();
  if (folding.findChoice(op))
    return folding;
  return std::nullopt;
}

static TypedAttr neutralOf(ImplicitLocOpBuilder &b, CombiningKind kind,
                           Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    auto infinity = [&](bool negative) {
      return b.getFloatAttr(type, APFloat::getInf(semantics, negative));
    };
    switch (kind) {
    case CombiningKind::MUL:
      return b.getFloatAttr(type, 1.0);
    case CombiningKind::MAXIMUMF:
    case CombiningKind::MAXNUMF:
      return infinity(true);
    case CombiningKind::MINIMUMF:
    case CombiningKind::MINNUMF:
      return infinity(false);
    default: // -0.0 keeps the sign of a sum of nothing but -0.0
      return b.getFloatAttr(type, APFloat::getZero(semantics, true));
    }
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt value(bits, 0);
  switch (kind) {
  case CombiningKind::MUL:
    value = APInt(bits, 1);
    break;
  case CombiningKind::AND:
  case CombiningKind::MINUI:
    value = APInt::getAllOnes(bits);
    break;
  case CombiningKind::MAXSI:
    value = APInt::getSignedMinValue(bits);
    break;
  case CombiningKind::MINSI:
    value = APInt::getSignedMaxValue(bits);
    break;
  default:
    break;
  }
  return b.getIntegerAttr(type, value);
}

bool Folding::rounds() const {
  return llvm::any_of(combiners, [](const Combiner &combiner) {
    return isa<FloatType>(combiner.type) && combiner.kind == CombiningKind::ADD;
  });
}

Folding::Values Folding::neutral(ImplicitLocOpBuilder &b,
                                 TypeRange types) const {
  Values values;
  for (auto [combiner, shape] : llvm::zip_equal(combiners, types)) {
    TypedAttr one = neutralOf(b, combiner.kind, combiner.type);
    if (auto type = dyn_cast<VectorType>(shape))
      one = DenseElementsAttr::get(type, Attribute(one));
    values.push_back(arith::ConstantOp::create(b, one));
  }
  return values;
}

Folding::Values Folding::start(ImplicitLocOpBuilder &b, ValueRange inits,
                               int64_t lanes) const {
  Values values;
  for (Value init : inits) {
    auto type = VectorType::get({lanes}, init.getType());
    values.push_back(vector::BroadcastOp::create(b, type, init));
  }
  // Choosing a value twice is choosing it once.
  return combiners.empty() ? values : neutral(b, ValueRange(values).getTypes());
}

/// An op of a body on vectors, or on other vectors than before.
static Value cloneAs(ImplicitLocOpBuilder &b, Operation *op,
                     const IRMapping &map, Type like) {
  auto resized = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? vector.clone(element) : element;
  };
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    Type type = resized(op->getResult(0).getType());
    if (auto vector = dyn_cast<VectorType>(type))
      constant = DenseElementsAttr::get(vector, constant);
    return arith::ConstantOp::create(b, cast<TypedAttr>(constant));
  }
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands()) {
    Value mapped = map.lookupOrNull(operand);
    if (!mapped) // a constant above the body
      mapped = cloneAs(b, operand.getDefiningOp(), map, like);
    state.addOperands(mapped);
  }
  state.addTypes(resized(op->getResult(0).getType()));
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResult(0);
}

Folding::Values Folding::merge(ImplicitLocOpBuilder &b, ValueRange left,
                               ValueRange right) const {
  Values merged;
  if (!combiners.empty()) {
    for (auto [combiner, x, y] : llvm::zip_equal(combiners, left, right))
      merged.push_back(
          vector::makeArithReduction(b, b.getLoc(), combiner.kind, x, y));
    return merged;
  }
  IRMapping map;
  map.map(held, left);
  map.map(offered, right);
  for (Operation *op : condition)
    map.map(op->getResult(0), cloneAs(b, op, map, left[0].getType()));
  for (auto [x, y] : llvm::zip_equal(left, right))
    merged.push_back(
        arith::SelectOp::create(b, map.lookup(takesOffered), y, x));
  return merged;
}

Folding::Values Folding::foldLanes(ImplicitLocOpBuilder &b,
                                   ValueRange vectors) const {
  Values values = llvm::to_vector(vectors);
  if (!combiners.empty()) {
    for (auto [combiner, value] : llvm::zip_equal(combiners, values)) {
      // Without leave to reassociate, lanes would be added one by one.
      auto flags = isa<FloatType>(combiner.type) ? arith::FastMathFlags::reassoc
                                                 : arith::FastMathFlags::none;
      value = vector::ReductionOp::create(b, combiner.kind, value, flags);
    }
    return values;
  }
  int64_t lanes = cast<VectorType>(values[0].getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    Values low, high;
    for (Value value : values) {
      low.push_back(vector::ExtractStridedSliceOp::create(
          b, value, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{half},
          ArrayRef<int64_t>{1}));
      high.push_back(vector::ExtractStridedSliceOp::create(
          b, value, ArrayRef<int64_t>{half}, ArrayRef<int64_t>{half},
          ArrayRef<int64_t>{1}));
    }
    values = merge(b, low, high);
  }
  for (Value &value : values)
    value = vector::ExtractOp::create(b, value, ArrayRef<int64_t>{0});
  return values;
}

} // namespace ltc::compiler
