//===- functions.cpp - Functions by those that a dialect has ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Our kernels' polynomials (target/math) take numbers apart by their bits and
// by adding a number and taking it away again, which XLA simplifies to nothing.
// These formulas are of plain arithmetic and of a few functions.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/functions.h"

#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;

namespace ltc::compiler {
namespace {

template <typename Op> Value call(Real &f, Value x) {
  return Op::create(f.builder(), x);
}

Value doubled(Real &f, Value x) { return f.add(x, x); }
Value halved(Real &f, Value x) { return f.mul(x, f.constant(0.5)); }
/// x, or -x where y is negative.
Value signedAs(Real &f, Value x, Value y) {
  return f.select(f.less(y, 0.0), f.negate(x), x);
}

/// Half of e^|x|, which overflows no sooner than it has to.
Value halfPower(Real &f, Value x) {
  Value root = call<math::ExpOp>(f, halved(f, f.abs(x)));
  return f.mul(halved(f, root), root);
}

Value sinh(Real &f, ValueRange xs) {
  Value t = f.abs(xs[0]), one = f.constant(1.0);
  Value less = call<math::ExpM1Op>(f, t);
  Value near = halved(f, f.add(less, f.div(less, f.add(less, one))));
  Value power = halfPower(f, t);
  Value far = f.sub(power, f.div(f.constant(0.25), power));
  return signedAs(f, f.select(f.less(t, one), near, far), xs[0]);
}

Value cosh(Real &f, ValueRange xs) {
  Value power = halfPower(f, xs[0]);
  return f.add(power, f.div(f.constant(0.25), power));
}

/// tanh keeps the digits that e^x - 1 loses.
Value expm1(Real &f, ValueRange xs) {
  Value x = xs[0], one = f.constant(1.0), power = call<math::ExpOp>(f, x);
  Value near = f.mul(call<math::TanhOp>(f, halved(f, x)), f.add(power, one));
  return f.select(f.less(f.abs(x), one), near, f.sub(power, one));
}

/// Corrects what 1 + x is rounded by.
Value log1p(Real &f, ValueRange xs) {
  Value x = xs[0], one = f.constant(1.0), sum = f.add(x, one);
  Value log = call<math::LogOp>(f, sum);
  Value near = f.mul(log, f.div(x, f.sub(sum, one)));
  Value isFar = f.greater(f.abs(x), 2.0);
  return f.select(isFar, log, f.select(f.equal(sum, one), x, near));
}

Value exp2(Real &f, ValueRange xs) {
  return math::PowFOp::create(f.builder(), f.constant(2.0), xs[0]);
}
Value log2(Real &f, ValueRange xs) {
  return f.mul(call<math::LogOp>(f, xs[0]), f.constant(std::numbers::log2e));
}
Value log10(Real &f, ValueRange xs) {
  return f.mul(call<math::LogOp>(f, xs[0]), f.constant(std::numbers::log10e));
}

Value tan(Real &f, ValueRange xs) {
  return f.div(call<math::SinOp>(f, xs[0]), call<math::CosOp>(f, xs[0]));
}
Value atan2(Real &f, Value y, Value x) {
  return math::Atan2Op::create(f.builder(), y, x);
}
/// The other leg of a triangle whose hypotenuse is 1.
Value leg(Real &f, Value x) {
  Value one = f.constant(1.0);
  return f.sqrt(f.mul(f.sub(one, x), f.add(one, x)));
}
Value asin(Real &f, ValueRange xs) { return atan2(f, xs[0], leg(f, xs[0])); }
Value acos(Real &f, ValueRange xs) {
  Value half = atan2(f, leg(f, xs[0]), f.add(f.constant(1.0), xs[0]));
  return doubled(f, half);
}
Value atan(Real &f, ValueRange xs) { return atan2(f, xs[0], f.constant(1.0)); }

/// Where a square would overflow, log(2 x).
Value farLog(Real &f, Value x, Value near) {
  Value far = f.add(call<math::LogOp>(f, x), f.constant(std::numbers::ln2));
  return f.select(f.greater(x, 1e9), far, near);
}
Value asinh(Real &f, ValueRange xs) {
  Value t = f.abs(xs[0]), one = f.constant(1.0), square = f.mul(t, t);
  Value root = f.sqrt(f.add(square, one));
  Value rest = f.div(square, f.add(one, root));
  Value near = call<math::Log1pOp>(f, f.add(t, rest));
  return signedAs(f, farLog(f, t, near), xs[0]);
}
Value acosh(Real &f, ValueRange xs) {
  Value x = xs[0], one = f.constant(1.0), t = f.sub(x, one);
  Value root = f.sqrt(f.mul(t, f.add(x, one)));
  return farLog(f, x, call<math::Log1pOp>(f, f.add(t, root)));
}
Value atanh(Real &f, ValueRange xs) {
  Value up = call<math::Log1pOp>(f, xs[0]);
  return halved(f, f.sub(up, call<math::Log1pOp>(f, f.negate(xs[0]))));
}

Value erf(Real &f, ValueRange xs) {
  return approximateErf(f, xs[0],
                        [&](Value r) { return call<math::ExpOp>(f, r); });
}
Value erfc(Real &f, ValueRange xs) {
  return f.sub(f.constant(1.0), call<math::ErfOp>(f, xs[0]));
}

Value trunc(Real &f, ValueRange xs) {
  return f.select(f.less(xs[0], 0.0), call<math::CeilOp>(f, xs[0]),
                  call<math::FloorOp>(f, xs[0]));
}
Value roundEven(Real &f, ValueRange xs) {
  Value x = xs[0], down = call<math::FloorOp>(f, x), rest = f.sub(x, down);
  Value up = f.add(down, f.constant(1.0));
  Value even = doubled(f, call<math::FloorOp>(f, halved(f, down)));
  Value near = f.select(f.less(rest, 0.5), down, up);
  Value tie = f.select(f.equal(even, down), down, up);
  return f.select(f.equal(rest, 0.5), tie, near);
}
Value fma(Real &f, ValueRange xs) { return f.add(f.mul(xs[0], xs[1]), xs[2]); }
/// The sign of a zero shows in what it divides.
Value copysign(Real &f, ValueRange xs) {
  Value y = xs[1], size = f.abs(xs[0]);
  Value inverse = f.div(f.constant(1.0), y);
  Value negative =
      f.either(f.less(y, 0.0), f.both(f.equal(y, 0.0), f.less(inverse, 0.0)));
  return f.select(negative, f.negate(size), size);
}

struct Formula {
  StringLiteral op;
  Value (*value)(Real &f, ValueRange xs);
};
constexpr Formula kFormulas[] = {
    {"math.acos", acos},   {"math.acosh", acosh},
    {"math.asin", asin},   {"math.asinh", asinh},
    {"math.atan", atan},   {"math.atanh", atanh},
    {"math.cosh", cosh},   {"math.copysign", copysign},
    {"math.erf", erf},     {"math.erfc", erfc},
    {"math.exp2", exp2},   {"math.expm1", expm1},
    {"math.fma", fma},     {"math.log10", log10},
    {"math.log1p", log1p}, {"math.log2", log2},
    {"math.sinh", sinh},   {"math.roundeven", roundEven},
    {"math.tan", tan},     {"math.trunc", trunc},
};

bool isFormula(Operation *op, const TensorDialect &d) {
  const PointwiseRow *row = findPointwiseRow(op->getName().getStringRef());
  return row && d.spelling(*row) == "formula";
}

} // namespace

void expandFunctions(Operation *root, const TensorDialect &d) {
  // A formula may be of functions that are formulas themselves.
  for (bool isDone = false; !isDone;) {
    SmallVector<Operation *> ops;
    root->walk([&](Operation *op) {
      if (isFormula(op, d))
        ops.push_back(op);
    });
    isDone = ops.empty();
    for (Operation *op : ops) {
      const Formula *formula =
          llvm::find_if(kFormulas, [&](const Formula &one) {
            return one.op == op->getName().getStringRef();
          });
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Real f = Real(b, op->getResult(0).getType()).apart();
      op->getResult(0).replaceAllUsesWith(formula->value(f, op->getOperands()));
      op->erase();
    }
  }
}

} // namespace ltc::compiler
