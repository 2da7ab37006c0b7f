//===- combiner.cpp - What a reduction folds with ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

bool combinersOf(linalg::GenericOp op, SmallVectorImpl<Combiner> &combiners) {
  combiners.clear();
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

static TypedAttr neutral(ImplicitLocOpBuilder &b, Combiner combiner) {
  Type type = combiner.type;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    auto infinity = [&](bool negative) {
      return b.getFloatAttr(type, APFloat::getInf(semantics, negative));
    };
    switch (combiner.kind) {
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
  switch (combiner.kind) {
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

Value neutralVector(ImplicitLocOpBuilder &b, Combiner combiner, int64_t lanes) {
  auto type = VectorType::get({lanes}, combiner.type);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, Attribute(neutral(b, combiner))));
}

Value combine(ImplicitLocOpBuilder &b, Combiner combiner, Value left,
              Value right) {
  return vector::makeArithReduction(b, b.getLoc(), combiner.kind, left, right);
}

Value foldVector(ImplicitLocOpBuilder &b, Combiner combiner, Value vector) {
  // Without leave to reassociate, lanes would be added one by one.
  auto flags = isa<FloatType>(combiner.type) ? arith::FastMathFlags::reassoc
                                             : arith::FastMathFlags::none;
  return vector::ReductionOp::create(b, combiner.kind, vector, flags);
}

} // namespace ltc::compiler
