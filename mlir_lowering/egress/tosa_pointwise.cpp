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

#include <numbers>

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

/// Functions that TOSA lacks, by those that it has.
Value Tosa::function(Operation *op, ValueRange xs) {
  Value x = xs[0], one = number(1, x), half = number(0.5, x);
  Type element = elementOf(x);
  auto call = [&](StringRef name, Value v) {
    return elementwise(name, v, element);
  };
  auto add = [&](Value p, Value q) {
    return elementwise("tosa.add", {p, q}, element);
  };
  auto sub = [&](Value p, Value q) {
    return elementwise("tosa.sub", {p, q}, element);
  };
  auto div = [&](Value p, Value q) {
    return product(p, call("tosa.reciprocal", q));
  };
  auto expm1 = [&] { // tanh keeps the digits that exp(x) - 1 loses
    Value power = call("tosa.exp", x);
    Value near = product(call("tosa.tanh", product(x, half)), add(power, one));
    Value isNear = less(call("tosa.abs", x), one);
    return select(isNear, near, sub(power, one));
  };
  auto log1p = [&] { // corrects what 1 + x is rounded by
    Value sum = add(one, x);
    Value scale = div(x, sub(sum, one));
    return select(equal(sum, one), x, product(call("tosa.log", sum), scale));
  };
  auto halfSum = [&](bool plus) { // of e^x and e^-x; around 0 by expm1
    Value low = expm1(), power = add(low, one), other = div(low, power);
    if (!plus)
      return product(add(low, other), half);
    return product(add(power, call("tosa.reciprocal", power)), half);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::Exp2Op) {
        return elementwise("tosa.pow", {number(2, x), x}, element);
      })
      .Case([&](math::PowFOp) { return elementwise("tosa.pow", xs, element); })
      .Case([&](math::ExpM1Op) { return expm1(); })
      .Case([&](math::Log1pOp) { return log1p(); })
      .Case([&](math::Log2Op) {
        return product(call("tosa.log", x), number(std::numbers::log2e, x));
      })
      .Case([&](math::Log10Op) {
        return product(call("tosa.log", x), number(std::numbers::log10e, x));
      })
      .Case([&](math::SqrtOp) {
        return call("tosa.reciprocal", call("tosa.rsqrt", x));
      })
      .Case([&](math::SinhOp) { return halfSum(false); })
      .Case([&](math::CoshOp) { return halfSum(true); })
      .Case([&](math::TanOp) {
        return div(call("tosa.sin", x), call("tosa.cos", x));
      })
      .Case([&](math::ErfcOp) { return sub(one, call("tosa.erf", x)); })
      .Case([&](math::TruncOp) {
        return select(less(x, number(0, x)), call("tosa.ceil", x),
                      call("tosa.floor", x));
      })
      .Case([&](math::RoundEvenOp) {
        Value down = call("tosa.floor", x), rest = sub(x, down);
        Value even =
            product(call("tosa.floor", product(down, half)), number(2, x));
        Value isTie = equal(rest, half);
        Value up = add(down, one);
        return select(isTie, select(equal(even, down), down, up),
                      select(less(rest, half), down, up));
      })
      .Case([&](math::FmaOp) { return add(product(x, xs[1]), xs[2]); })
      .Default([&](Operation *) {
        return refuse("TOSA has no op for " + op->getName().getStringRef(),
                      x.getType());
      });
}

Value Tosa::composed(Operation *op, ValueRange xs, Type element) {
  Value x = xs[0];
  bool ofTruths = elementOf(x).isInteger(1);
  auto bits = [&](StringRef logical, StringRef bitwise) {
    return elementwise(ofTruths ? logical : bitwise, xs, element);
  };
  auto isNan = [&](Value v) { return negation(equal(v, v)); };
  auto best = [&](StringRef name) { // a number wins over a NaN
    return select(isNan(x), xs[1],
                  select(isNan(xs[1]), x, elementwise(name, xs, element)));
  };
  auto unsignedOnly = [&](StringRef logical) {
    return ofTruths ? elementwise(logical, xs, element)
                    : refuse("TOSA has no unsigned integers", like(x, element));
  };
  // The bits of a narrower integer, with zeros in front.
  auto widened = [&](Type to) {
    if (ofTruths || elementOf(x) == to)
      return convert(x, to);
    unsigned width = elementOf(x).getIntOrFloatBitWidth();
    Value mask =
        splat(b.getIntegerAttr(to, llvm::maskTrailingOnes<uint64_t>(width)),
              SmallVector<int64_t>(shapeOf(x).size(), 1));
    return elementwise("tosa.bitwise_and", {convert(x, to), mask}, to);
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
      .Case([&](arith::CmpFOp) { return compareFloats(op, x, xs[1]); })
      .Case([&](arith::CmpIOp) { return compareIntegers(op, x, xs[1]); })
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
      .Case([&](arith::MaxNumFOp) { return best("tosa.maximum"); })
      .Case([&](arith::MinNumFOp) { return best("tosa.minimum"); })
      .Case([&](arith::MaxUIOp) { return unsignedOnly("tosa.logical_or"); })
      .Case([&](arith::MinUIOp) { return unsignedOnly("tosa.logical_and"); })
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
      .Default([&](Operation *) { return function(op, xs); });
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
