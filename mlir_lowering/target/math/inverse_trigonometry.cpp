//===- inverse_trigonometry.cpp - asin, acos, atan and their like ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32 within 2 ULP, in f64 within 1 (atan2 1.1). The fits are minimax. In
// f64 what a root or a quotient was rounded by is worked out and added again.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What the precisions differ in.
struct ArcFit {
  double halfPi, halfPiRest;
  double near;                     // from here on asin is taken from the end
  SmallVector<double, 14> sine;    // asin(x) = x + x^3 sine(x^2)
  SmallVector<double, 14> tangent; // atan(x) = x + x^3 tangent(x^2)
  double large, shrink; // sums and quotients of larger numbers overflow
  double small, grow;   // with smaller ones, products are too coarse
};

ArcFit arcFit(const Real &f) {
  if (f.isDouble())
    return {0x1.921fb54442d18p0,
            0x1.1a62633145c07p-54,
            0.5,
            {0x1.5555555555578p-3, 0x1.333333332df7fp-4, 0x1.6db6db7226033p-5,
             0x1.f1c71a8dc62ebp-6, 0x1.6e8bdfa6272fdp-6, 0x1.1c49e2bf9f594p-6,
             0x1.ca20cdbd8cc52p-7, 0x1.757b7c2168f18p-7, 0x1.6173ea87d2193p-7,
             0x1.e2bef9c450e8ap-9, 0x1.6492966ba6ba3p-6, -0x1.59546a33d81c6p-6,
             0x1.0bb05e8187bd7p-5},
            {-0x1.5555555555543p-2, 0x1.9999999997440p-3, -0x1.24924923bf85ep-3,
             0x1.c71c717bd715fp-4, -0x1.745d0f485eb53p-4, 0x1.3b13242b2bfbbp-4,
             -0x1.110a64fac93fbp-4, 0x1.e16f372b1bfd0p-5, -0x1.ac5e872dd7ee9p-5,
             0x1.796084b7a0ab0p-5, -0x1.39895cd127f88p-5, 0x1.bd9a05393f580p-6,
             -0x1.ca0b6bdcb1b14p-7, 0x1.e68d5e41e5c22p-9},
            0x1p1000,
            0x1p-60,
            1.0,
            0x1p300};
  return {0x1.921fb6p0,
          -0x1.777a5cp-25,
          0.625,
          {0.16666691f, 0.0749849007f, 0.0449576601f, 0.0273092985f,
           0.0380330943f, -0.0243987795f, 0.0645965561f},
          {-0.333333284f, 0.199996531f, -0.142774656f, 0.110168703f,
           -0.0850004107f, 0.055451829f, -0.0207484365f},
          0x1p100,
          0x1p-30,
          0x1p-60,
          0x1p60};
}

/// Their sum is the angle; `more` is what goes beyond the first digits.
struct Angle {
  Value first, more;
};

/// turns pi/2 - angle.
Value lessThan(Real &f, const ArcFit &fit, double turns, Angle angle) {
  Value whole = f.constant(turns * fit.halfPi);
  Value first = f.sub(whole, angle.first);
  Value lost = f.sub(f.sub(whole, first), angle.first);
  Value more = f.sub(angle.more, f.constant(turns * fit.halfPiRest));
  return f.add(first, f.sub(lost, more));
}

Value sum(Real &f, Angle angle) { return f.add(angle.first, angle.more); }

/// asin(x), or for a larger x acos(|x|), twice asin(sqrt((1 - |x|) / 2)).
struct Arc {
  Value isNear;
  Angle angle;
};

Arc arcOf(Real &f, const ArcFit &fit, Value x) {
  Value size = f.abs(x), none = f.constant(0.0);
  Value isNear = f.less(size, fit.near);
  Value half = f.mul(f.sub(f.constant(1.0), size), f.constant(0.5));
  Value s = f.select(isNear, f.mul(x, x), half);
  Value root = f.sqrt(half), from = f.select(isNear, x, root);
  Value more = f.mul(f.mul(from, s), f.polynomial(s, fit.sine));
  if (f.isDouble()) {
    Value lost = f.div(f.fma(f.negate(root), root, half), f.add(root, root));
    Value isExact = f.either(isNear, f.equal(half, 0.0));
    more = f.add(more, f.select(isExact, none, lost));
  }
  Value times = f.select(isNear, f.constant(1.0), f.constant(2.0));
  return {isNear, {f.mul(times, from), f.mul(times, more)}};
}

Value asin(Real &f, ValueRange x) {
  ArcFit fit = arcFit(f);
  Arc arc = arcOf(f, fit, x[0]);
  Value far = f.withSign(lessThan(f, fit, 1, arc.angle), x[0]);
  Value result = f.select(arc.isNear, sum(f, arc.angle), far);
  return f.select(f.equal(x[0], 0.0), x[0], result);
}

Value acos(Real &f, ValueRange x) {
  ArcFit fit = arcFit(f);
  Arc arc = arcOf(f, fit, x[0]);
  Value far = f.select(f.less(x[0], 0.0), lessThan(f, fit, 2, arc.angle),
                       sum(f, arc.angle));
  return f.select(arc.isNear, lessThan(f, fit, 1, arc.angle), far);
}

/// over / under. Neither is so large or so small that it has no inverse.
Angle quotient(Real &f, Value over, Value under) {
  if (!f.isDouble())
    return {f.div(over, under), f.constant(0.0)};
  Value inverse = f.div(f.constant(1.0), under), near = f.mul(over, inverse);
  return {near, f.mul(f.fma(f.negate(near), under, over), inverse)};
}

/// The angle of (x, y), both not negative, in [0, pi/2].
Angle angleOf(Real &f, const ArcFit &fit, Value y, Value x) {
  Value far = f.greater(y, f.mul(x, f.constant(2.41421356)));
  Value middle = f.greater(y, f.mul(x, f.constant(0.6)));
  Value over = f.select(far, f.negate(x), f.select(middle, f.sub(y, x), y));
  Value under = f.select(far, y, f.select(middle, f.add(y, x), x));
  auto base = [&](double turn) {
    Value none = f.constant(0.0);
    return f.select(far, f.constant(turn),
                    f.select(middle, f.constant(turn / 2), none));
  };
  Angle a = quotient(f, over, under);
  Value s = f.mul(a.first, a.first);
  Value more = f.mul(f.mul(a.first, s), f.polynomial(s, fit.tangent));
  more = f.add(f.add(more, a.more), base(fit.halfPiRest));
  // The base is 0 or larger, so that nothing of the quotient is lost but here.
  Value whole = base(fit.halfPi), first = f.add(whole, a.first);
  return {first, f.add(f.sub(a.first, f.sub(first, whole)), more)};
}

Value atan(Real &f, ValueRange x) {
  ArcFit fit = arcFit(f);
  Value size = f.abs(x[0]);
  size = f.select(f.greater(size, fit.large), f.constant(fit.large), size);
  Angle angle = angleOf(f, fit, size, f.constant(1.0));
  return f.select(f.equal(x[0], 0.0), x[0], f.withSign(sum(f, angle), x[0]));
}

Value atan2(Real &f, ValueRange operands) {
  ArcFit fit = arcFit(f);
  Value y = f.abs(operands[0]), x = f.abs(operands[1]);
  Value one = f.constant(1.0);
  Value high = f.equal(y, kInfinity), wide = f.equal(x, kInfinity);
  Value large = f.either(f.greater(y, fit.large), f.greater(x, fit.large));
  Value small = f.both(f.less(y, fit.small), f.less(x, fit.small));
  Value scale = f.select(small, f.constant(fit.grow), one);
  scale = f.select(large, f.constant(fit.shrink), scale);
  // Beside an infinity every number is nothing, but a NaN.
  scale = f.select(f.either(high, wide), f.constant(0.0), scale);
  Value zero = f.both(f.equal(y, 0.0), f.equal(x, 0.0));
  Value height = f.select(high, one, f.mul(y, scale));
  Value width = f.select(f.either(wide, zero), one, f.mul(x, scale));
  Angle angle = angleOf(f, fit, height, width);
  Value backwards = f.less(f.withSign(one, operands[1]), 0.0);
  Value result = f.select(backwards, lessThan(f, fit, 2, angle), sum(f, angle));
  return f.withSign(result, operands[0]);
}

} // namespace

void addInverseTrigonometry(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (unsigned bits : {32, 64}) {
    patterns.add<Approximate<math::AsinOp>>(context, asin, bits);
    patterns.add<Approximate<math::AcosOp>>(context, acos, bits);
    patterns.add<Approximate<math::AtanOp>>(context, atan, bits);
    patterns.add<Approximate<math::Atan2Op>>(context, atan2, bits);
  }
}

} // namespace ltc::compiler
