//===- tosa_pointwise.cpp - Ops on elements in TOSA -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/egress/tosa.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {

/// The shape that operands of one rank, or scalars, broadcast to.
static SmallVector<int64_t> commonShape(ValueRange xs) {
  SmallVector<int64_t> shape;
  for (Value x : xs) {
    shape.resize(std::max(shape.size(), shapeOf(x).size()), 1);
    for (auto [d, size] : llvm::enumerate(shapeOf(x)))
      shape[d] = std::max(shape[d], size);
  }
  return shape;
}

Value Tosa::elementwise(StringRef op, ValueRange xs, Type element) {
  SmallVector<int64_t> shape = commonShape(xs);
  Tensors operands;
  for (Value x : xs)
    operands.push_back(shapeOf(x).empty() ? align(x, {}, shape) : x);
  return one(op, RankedTensorType::get(shape, element), operands);
}

Value Tosa::number(double value, Value like) {
  SmallVector<int64_t> ones(shapeOf(like).size(), 1);
  Type element = elementOf(like);
  if (isa<FloatType>(element))
    return splat(b.getFloatAttr(element, value), ones);
  return splat(b.getIntegerAttr(element, int64_t(value)), ones);
}

Value Tosa::product(Value x, Value y) {
  SmallVector<int64_t> shape = commonShape({x, y});
  auto full = [&](Value v) {
    return shapeOf(v).empty() ? align(v, {}, shape) : v;
  };
  Value shift = splat(b.getI8IntegerAttr(0), {1});
  return one("tosa.mul", RankedTensorType::get(shape, elementOf(x)),
             {full(x), full(y), shift});
}

Value Tosa::negation(Value holds) {
  return one("tosa.logical_not", holds.getType(), holds);
}

Value Tosa::truth(Value x) {
  Operation *def = x.getDefiningOp();
  if (def && def->getName().getStringRef() == "tosa.cast" &&
      elementOf(def->getOperand(0)).isInteger(1))
    return def->getOperand(0);
  return negation(equal(x, number(0, x)));
}

Value Tosa::compareFloats(Operation *op, Value x, Value y) {
  using P = arith::CmpFPredicate;
  Type truth = b.getI1Type();
  auto is = [&](StringRef name, Value p, Value q) {
    return elementwise(name, {p, q}, truth);
  };
  auto isNan = [&](Value v) { return negation(equal(v, v)); };
  auto either = [&](Value p, Value q) { return is("tosa.logical_or", p, q); };
  auto apart = [&] { return either(less(x, y), less(y, x)); };
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case P::OEQ:
    return equal(x, y);
  case P::OGT:
    return less(y, x);
  case P::OGE:
    return is("tosa.greater_equal", x, y);
  case P::OLT:
    return less(x, y);
  case P::OLE:
    return is("tosa.greater_equal", y, x);
  case P::UNE:
    return negation(equal(x, y));
  case P::ONE:
    return apart();
  case P::UEQ:
    return negation(apart());
  case P::UGT:
    return negation(is("tosa.greater_equal", y, x));
  case P::UGE:
    return negation(less(x, y));
  case P::ULT:
    return negation(is("tosa.greater_equal", x, y));
  case P::ULE:
    return negation(less(y, x));
  case P::UNO:
    return either(isNan(x), isNan(y));
  case P::ORD:
    return negation(either(isNan(x), isNan(y)));
  case P::AlwaysFalse:
  case P::AlwaysTrue:
    break;
  }
  bool holds = cast<arith::CmpFOp>(op).getPredicate() == P::AlwaysTrue;
  return splat(b.getBoolAttr(holds), shapeOf(equal(x, y)));
}

Value Tosa::compareIntegers(Operation *op, Value x, Value y) {
  using P = arith::CmpIPredicate;
  Type truthType = b.getI1Type();
  bool ofTruths = elementOf(x).isInteger(1);
  switch (cast<arith::CmpIOp>(op).getPredicate()) {
  case P::eq:
    return ofTruths
               ? negation(elementwise("tosa.logical_xor", {x, y}, truthType))
               : equal(x, y);
  case P::ne:
    if (ofTruths)
      return elementwise("tosa.logical_xor", {x, y}, truthType);
    return matchPattern(op->getOperand(1), m_Zero()) ? truth(x)
                                                     : negation(equal(x, y));
  case P::slt:
    return less(x, y);
  case P::sle:
    return elementwise("tosa.greater_equal", {y, x}, truthType);
  case P::sgt:
    return less(y, x);
  case P::sge:
    return elementwise("tosa.greater_equal", {x, y}, truthType);
  default:
    return refuse("TOSA does not compare unsigned integers",
                  like(x, truthType));
  }
}

/// Of bits or truths; null for another op.
Value Tosa::logical(Operation *op, ValueRange xs, Type element) {
  Value x = xs[0];
  bool ofTruths = elementOf(x).isInteger(1);
  auto bits = [&](StringRef ofThem, StringRef bitwise) {
    return elementwise(ofTruths ? ofThem : bitwise, xs, element);
  };
  auto unsignedOnly = [&](StringRef ofThem) {
    return ofTruths ? elementwise(ofThem, xs, element)
                    : refuse("TOSA has no unsigned integers", like(x, element));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AndIOp) {
        return bits("tosa.logical_and", "tosa.bitwise_and");
      })
      .Case([&](arith::OrIOp) {
        return bits("tosa.logical_or", "tosa.bitwise_or");
      })
      .Case([&](arith::XOrIOp) {
        return bits("tosa.logical_xor", "tosa.bitwise_xor");
      })
      .Case([&](arith::MaxUIOp) { return unsignedOnly("tosa.logical_or"); })
      .Case([&](arith::MinUIOp) { return unsignedOnly("tosa.logical_and"); })
      .Case([&](arith::CmpFOp) { return compareFloats(op, x, xs[1]); })
      .Case([&](arith::CmpIOp) { return compareIntegers(op, x, xs[1]); })
      .Default(Value());
}

/// Of one type to another; null for another op.
Value Tosa::cast(Operation *op, Value x, Type element) {
  // The bits of a narrower integer, with zeros in front.
  auto widened = [&](Type to) {
    if (elementOf(x).isInteger(1) || elementOf(x) == to)
      return convert(x, to);
    unsigned width = elementOf(x).getIntOrFloatBitWidth();
    Value mask =
        splat(b.getIntegerAttr(to, llvm::maskTrailingOnes<uint64_t>(width)),
              SmallVector<int64_t>(shapeOf(x).size(), 1));
    return elementwise("tosa.bitwise_and", {convert(x, to), mask}, to);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::FPToSIOp) { // a cast rounds to the nearest
        Value zero = number(0, x);
        Type real = elementOf(x);
        Value whole = select(less(x, zero), elementwise("tosa.ceil", x, real),
                             elementwise("tosa.floor", x, real));
        return convert(whole, element);
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](auto) { return convert(widened(element), element); })
      .Case([&](arith::UIToFPOp) {
        unsigned width = elementOf(x).getIntOrFloatBitWidth();
        Type wide = width < 32 ? b.getI32Type() : b.getI64Type();
        return width < 64
                   ? convert(widened(wide), element)
                   : refuse("TOSA has no unsigned integers", like(x, element));
      })
      .Case([&](arith::IndexCastOp) { return convert(x, element); })
      .Case([&](arith::TruncIOp) {
        if (!element.isInteger(1))
          return convert(x, element);
        return truth(
            elementwise("tosa.bitwise_and", {x, number(1, x)}, elementOf(x)));
      })
      .Default(Value());
}

Value Tosa::composed(Operation *op, ValueRange xs, Type element) {
  Value x = xs[0];
  if (Value found = logical(op, xs, element))
    return found;
  if (Value found = cast(op, x, element))
    return found;
  auto isNan = [&](Value v) { return negation(equal(v, v)); };
  auto best = [&](StringRef name) { // a number wins over a NaN
    return select(isNan(x), xs[1],
                  select(isNan(xs[1]), x, elementwise(name, xs, element)));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return product(x, xs[1]); })
      .Case([&](arith::DivFOp) {
        return product(x, elementwise("tosa.reciprocal", xs[1], element));
      })
      .Case([&](arith::NegFOp) {
        Value zero = zeros({1}, element);
        return one("tosa.negate", x.getType(), {x, zero, zero});
      })
      .Case([&](arith::RemSIOp) {
        Value quotient = elementwise("tosa.intdiv", xs, element);
        return elementwise("tosa.sub", {x, product(quotient, xs[1])}, element);
      })
      .Case([&](arith::ShRSIOp) {
        Value shifted = elementwise("tosa.arithmetic_right_shift", xs, element);
        shifted.getDefiningOp()->setAttr("round", b.getBoolAttr(false));
        return shifted;
      })
      .Case([&](arith::MaxNumFOp) { return best("tosa.maximum"); })
      .Case([&](arith::MinNumFOp) { return best("tosa.minimum"); })
      .Case([&](CheckOp) { return x; })
      .Case([&](CheckDivisorOp) {
        return select(equal(x, number(0, x)), number(1, x), x);
      })
      .Case([&](CheckIndexOp check) {
        if (!check.getWrap())
          return x;
        return select(less(x, number(0, x)),
                      elementwise("tosa.add", xs, element), x);
      })
      .Case([&](math::SqrtOp) {
        return elementwise("tosa.reciprocal",
                           elementwise("tosa.rsqrt", x, element), element);
      })
      .Default([&](Operation *) {
        return refuse("TOSA is not told " + op->getName().getStringRef(),
                      like(x, element));
      });
}

Value Tosa::pointwise(Operation *op, ValueRange xs) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (element.isIndex())
    element = b.getI64Type();
  StringRef name = op->getName().getStringRef();
  const PointwiseRow *row = findPointwiseRow(name);
  if (row && row->tosa.starts_with("tosa."))
    return elementwise(row->tosa, xs, element);
  return row && row->tosa == "*"
             ? composed(op, xs, element)
             : refuse("TOSA has no op for " + name, like(xs[0], element));
}

} // namespace ltc::compiler
