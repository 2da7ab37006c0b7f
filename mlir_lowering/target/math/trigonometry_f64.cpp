//===- trigonometry_f64.cpp - Sine, cosine, tan in f64 ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Within 1 ULP, tan 1.1. An angle is reduced to a rest in two parts (Cody and
// Waite 1980). Large angles, and those so near to a quarter turn that the rest
// has too few digits, rare in one vector, are left to the C library.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace ltc::compiler {
namespace {

/// x = quarters * pi/2 + rest + low, |rest| a little over pi/4 at most.
struct Angle {
  Value rest, low, quarters, isHard;
};

/// Up to n of 20 bits: so many are free behind the two first parts of pi/2.
constexpr double kLargest = 0x1p20;
/// With a smaller rest the third part of pi/2 would be too coarse.
constexpr double kSmallestRest = 0x1p-30;

Angle reduce(Real &f, Value x) {
  Value magic = f.constant(0x1.8p52);
  Value shifted = f.add(f.mul(x, f.constant(2 * std::numbers::inv_pi)), magic);
  Value n = f.sub(shifted, magic);
  // Both products are exact, the first difference too.
  Value a = f.sub(x, f.mul(n, f.constant(0x1.921fb544p0)));
  Value b = f.mul(n, f.constant(0x1.0b4611a6p-34));
  Value high = f.sub(a, b), change = f.sub(high, a);
  Value low = f.sub(f.sub(a, f.sub(high, change)), f.add(b, change));
  low = f.sub(low, f.mul(n, f.constant(0x1.3198a2e037073p-69)));
  Value rest = f.add(high, low);
  Value size = f.abs(x);
  Value large = f.both(f.greater(size, kLargest),
                       f.less(size, std::numeric_limits<double>::infinity()));
  Value near = f.both(f.less(f.abs(rest), kSmallestRest), f.greater(size, 1.0));
  return {rest, f.add(f.sub(high, rest), low), f.bits(shifted),
          f.either(large, near)};
}

/// A sum, the second of which is small.
struct Sum {
  Value high, low;
};

Sum sineOf(Real &f, const Angle &angle) {
  Value r = angle.rest, z = f.mul(r, r);
  Value p = f.polynomial(z, {-0x1.5555555555549p-3, 0x1.111111110f8a6p-7,
                             -0x1.a01a019c1613cp-13, 0x1.71de357b0fac8p-19,
                             -0x1.ae5e688f89e62p-26, 0x1.5d939e4435ff8p-33});
  Value flat = f.sub(f.constant(1.0), f.mul(z, f.constant(0.5)));
  Value low = f.add(f.mul(f.mul(r, z), p), f.mul(angle.low, flat));
  return {r, low};
}

Sum cosineOf(Real &f, const Angle &angle) {
  Value r = angle.rest, z = f.mul(r, r), one = f.constant(1.0);
  Value p = f.polynomial(z, {0x1.555555555554cp-5, -0x1.6c16c16c1521ep-10,
                             0x1.a01a019cbf3a9p-16, -0x1.27e4f81292326p-22,
                             0x1.1ee9f1363ef29p-29, -0x1.8fb120c99bbf0p-37});
  Value half = f.mul(z, f.constant(0.5)), flat = f.sub(one, half);
  Value low = f.sub(f.mul(f.mul(z, z), p), f.mul(r, angle.low));
  return {flat, f.add(f.sub(f.sub(one, flat), half), low)};
}

/// Of an angle of which `quarters` more are added; `Op` is the same function.
template <typename Op> Value sineBehind(Real &f, Value x, int64_t quarters) {
  Angle angle = reduce(f, x);
  Value n = f.addInt(angle.quarters, f.integer(quarters));
  Value even = f.equalInt(f.both(n, f.integer(1)), 0);
  auto rounded = [&](Sum sum) { return f.add(sum.low, sum.high); };
  Value result =
      f.select(even, rounded(sineOf(f, angle)), rounded(cosineOf(f, angle)));
  Value sign = f.shiftLeft(f.both(n, f.integer(2)), 62);
  result =
      f.fromBits(f.builder().createOrFold<arith::XOrIOp>(f.bits(result), sign));
  return f.exactWhere<Op>(angle.isHard, result, x);
}

Value sin(Real &f, ValueRange x) {
  return f.select(f.equal(x[0], 0.0), x[0],
                  sineBehind<math::SinOp>(f, x[0], 0));
}
Value cos(Real &f, ValueRange x) { return sineBehind<math::CosOp>(f, x[0], 1); }

/// What the divisor and the quotient were rounded by is divided again.
Value tan(Real &f, ValueRange x) {
  Angle angle = reduce(f, x[0]);
  Sum sine = sineOf(f, angle), cosine = cosineOf(f, angle);
  Value even = f.equalInt(f.both(angle.quarters, f.integer(1)), 0);
  auto either = [&](Sum a, Sum b) -> Sum {
    return {f.select(even, a.high, b.high), f.select(even, a.low, b.low)};
  };
  Sum over = either(sine, {f.negate(cosine.high), f.negate(cosine.low)});
  Sum under = either(cosine, sine);
  Value divisor = f.add(under.high, under.low);
  Value lost = f.sub(under.low, f.sub(divisor, under.high));
  Value near = f.div(f.add(over.high, over.low), divisor);
  Value back = f.negate(near);
  Value rest =
      f.fma(back, lost, f.add(f.fma(back, divisor, over.high), over.low));
  Value result = f.add(near, f.div(rest, divisor));
  result = f.exactWhere<math::TanOp>(angle.isHard, result, x[0]);
  return f.select(f.equal(x[0], 0.0), x[0], result);
}

} // namespace

void addTrigonometryF64(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Approximate<math::SinOp>>(context, sin, /*bits=*/64);
  patterns.add<Approximate<math::CosOp>>(context, cos, /*bits=*/64);
  patterns.add<Approximate<math::TanOp>>(context, tan, /*bits=*/64);
}

} // namespace ltc::compiler
