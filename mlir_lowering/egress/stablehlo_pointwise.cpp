//===- stablehlo_pointwise.cpp - Ops on elements in StableHLO ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/egress/stablehlo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {

Type StableHlo::unsignedOf(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() == 1)
    return element;
  return IntegerType::get(b.getContext(), integer.getWidth(),
                          IntegerType::Unsigned);
}

Value StableHlo::compare(StringRef direction, Value x, Value y) {
  return one("stablehlo.compare", like(x, b.getI1Type()), {x, y},
             attribute("comparison_direction",
                       own("comparison_direction " + direction)));
}
Value StableHlo::negation(Value holds) {
  return one("stablehlo.not", holds.getType(), holds);
}
Value StableHlo::truth(Value x) {
  // What was a truth before it was a byte.
  Operation *def = x.getDefiningOp();
  if (def && def->getName().getStringRef() == "stablehlo.convert" &&
      elementOf(def->getOperand(0)).isInteger(1))
    return def->getOperand(0);
  return compare("NE", x, zeros(shapeOf(x), elementOf(x)));
}

/// Of ordered predicates a NaN makes false, of unordered ones true, which is
/// the opposite of the opposite.
Value StableHlo::compareFloats(Operation *op, Value x, Value y) {
  using P = arith::CmpFPredicate;
  auto either = [&](Value p, Value q) {
    return one("stablehlo.or", p.getType(), {p, q});
  };
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case P::OEQ:
    return compare("EQ", x, y);
  case P::OGT:
    return compare("GT", x, y);
  case P::OGE:
    return compare("GE", x, y);
  case P::OLT:
    return compare("LT", x, y);
  case P::OLE:
    return compare("LE", x, y);
  case P::UNE:
    return compare("NE", x, y);
  case P::ONE:
    return either(compare("LT", x, y), compare("GT", x, y));
  case P::UEQ:
    return negation(either(compare("LT", x, y), compare("GT", x, y)));
  case P::UGT:
    return negation(compare("LE", x, y));
  case P::UGE:
    return negation(compare("LT", x, y));
  case P::ULT:
    return negation(compare("GE", x, y));
  case P::ULE:
    return negation(compare("GT", x, y));
  case P::UNO:
    return either(compare("NE", x, x), compare("NE", y, y));
  case P::ORD:
    return negation(either(compare("NE", x, x), compare("NE", y, y)));
  case P::AlwaysFalse:
  case P::AlwaysTrue:
    break;
  }
  bool holds = cast<arith::CmpFOp>(op).getPredicate() == P::AlwaysTrue;
  return splat(b.getBoolAttr(holds), shapeOf(x));
}

Value StableHlo::compareIntegers(Operation *op, Value x, Value y) {
  using P = arith::CmpIPredicate;
  P predicate = cast<arith::CmpIOp>(op).getPredicate();
  if (predicate == P::ne && matchPattern(op->getOperand(1), m_Zero()))
    return truth(x);
  static constexpr StringLiteral kDirections[] = {"EQ", "NE", "LT", "LE", "GT",
                                                  "GE", "LT", "LE", "GT", "GE"};
  if (predicate >= P::ult)
    x = asUnsigned(x), y = asUnsigned(y);
  return compare(kDirections[size_t(predicate)], x, y);
}

Value StableHlo::composed(Operation *op, ValueRange xs, Type element) {
  Value x = xs[0];
  auto isNan = [&](Value v) { return compare("NE", v, v); };
  auto number = [&](StringRef name) { // wins over a NaN
    Value best = one(name, x.getType(), xs);
    return select(isNan(x), xs[1], select(isNan(xs[1]), x, best));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::CmpFOp) { return compareFloats(op, x, xs[1]); })
      .Case([&](arith::CmpIOp) { return compareIntegers(op, x, xs[1]); })
      .Case<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(
          [&](auto) { return convert(asUnsigned(x), element); })
      .Case([&](arith::IndexCastOp) { return convert(x, element); })
      .Case([&](arith::FPToUIOp) {
        return bitcast(convert(x, unsignedOf(element)), element);
      })
      .Case([&](arith::TruncIOp) {
        if (!element.isInteger(1))
          return convert(x, element);
        Value bit = splat(b.getIntegerAttr(elementOf(x), 1), shapeOf(x));
        return truth(one("stablehlo.and", x.getType(), {x, bit}));
      })
      .Case([&](arith::MaxNumFOp) { return number("stablehlo.maximum"); })
      .Case([&](arith::MinNumFOp) { return number("stablehlo.minimum"); })
      .Case([&](math::CopySignOp) {
        unsigned width = element.getIntOrFloatBitWidth();
        Type bits = b.getIntegerType(width);
        Value sign =
            splat(b.getIntegerAttr(bits, llvm::APInt::getSignMask(width)),
                  shapeOf(x));
        Value rest = one("stablehlo.not", sign.getType(), sign);
        Value a =
            one("stablehlo.and", sign.getType(), {bitcast(x, bits), rest});
        Value c =
            one("stablehlo.and", sign.getType(), {bitcast(xs[1], bits), sign});
        return bitcast(one("stablehlo.or", sign.getType(), {a, c}), element);
      })
      .Case([&](CheckOp) { return x; })
      .Case([&](CheckDivisorOp) {
        Value zero = zeros(shapeOf(x), element);
        Value unit = splat(b.getIntegerAttr(element, 1), shapeOf(x));
        return select(compare("EQ", x, zero), unit, x);
      })
      .Case([&](CheckIndexOp check) {
        if (!check.getWrap())
          return x;
        Value isNegative = compare("LT", x, zeros(shapeOf(x), element));
        Value moved = one("stablehlo.add", x.getType(), xs);
        return select(isNegative, moved, x);
      })
      .Default([&](Operation *) {
        return refuse("StableHLO is not told " + op->getName().getStringRef(),
                      like(x, element));
      });
}

Value StableHlo::pointwise(Operation *op, ValueRange xs) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (element.isIndex())
    element = b.getI64Type();
  StringRef name = op->getName().getStringRef();
  const PointwiseRow *row = findPointwiseRow(name);
  if (!row || !row->stableHlo.starts_with("stablehlo."))
    return row && row->stableHlo == "*"
               ? composed(op, xs, element)
               : refuse("StableHLO has no op for " + name,
                        like(xs[0], element));
  if (!row->isUnsigned)
    return one(row->stableHlo, like(xs.back(), element), xs);
  Tensors operands;
  for (Value x : xs)
    operands.push_back(asUnsigned(x));
  Value result = one(row->stableHlo, operands[0].getType(), operands);
  return bitcast(result, element);
}

} // namespace ltc::compiler
