//===- trigonometry.cpp - Sine, cosine, tan in f32 -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32, for every argument, within 2 ULP. An angle is reduced to a remainder
// of a quarter turn in f64; angles that are too large for that, rare in one
// vector, take their quarters from the digits of 2 / pi (Payne and Hanek 1983).
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x = quarters * pi/2 + rest, |rest| a little over pi/4 at most. The rest is
/// in f64, the quarters are right but for multiples of 2^32.
struct Angle {
  Value rest, quarters;
};

/// Exact up to n of 23 bits: so many are free behind the first part of pi/2.
constexpr double kLargestNear = 0x1p22;

Angle reduceNear(Real &f, Value x) {
  Real d = f.doubles();
  Value wide = d.convert(x), magic = d.constant(0x1.8p52);
  Value shifted =
      d.add(d.mul(wide, d.constant(2 * std::numbers::inv_pi)), magic);
  Value n = d.sub(shifted, magic);
  Value rest = d.sub(wide, d.mul(n, d.constant(0x1.921fb54p0)));
  rest = d.sub(rest, d.mul(n, d.constant(0x1.10b4611a62633p-30)));
  return {rest, f.convertInt(d.bits(shifted))};
}

/// Word `offset` behind the `first` of 0 and the digits of 2 / pi.
Value digitsOf2OverPi(Real &d, Value first, unsigned offset) {
  static constexpr uint32_t words[] = {0,          0xA2F9836E, 0x4E441529,
                                       0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                       0x3C439041, 0xFE5163AB};
  Value word = d.integer(words[4 + offset]);
  for (unsigned k = 4; k-- > 0;)
    word = d.select(d.equalInt(first, k), d.integer(words[k + offset]), word);
  return word;
}

/// x = m 2^e with an integer m. Digits of 2 / pi that give multiples of 4 are
/// skipped; m times the next 96 is the angle as a fraction of a turn.
Angle reduceFar(Real &f, Value x) {
  Real d = f.doubles();
  Value bits = f.bits(x);
  Value biased = f.both(f.shiftRight(bits, 23), f.integer(255));
  Value m = d.convertInt(
      f.either(f.both(bits, f.integer(0x7FFFFF)), f.integer(0x800000)));
  // e - 2 digits are skipped, and the word of zeros is in front of them.
  Value skipped = d.convertInt(f.subInt(biased, f.integer(150 + 2 - 32)));
  Value first = d.shiftRight(skipped, 5),
        shift = d.both(skipped, d.integer(31));
  Value words[4], window[3];
  for (unsigned i = 0; i < 4; ++i)
    words[i] = digitsOf2OverPi(d, first, i);
  for (unsigned i = 0; i < 3; ++i) {
    Value two = d.either(d.shiftLeft(words[i], 32), words[i + 1]);
    window[i] = d.shiftDown(d.shiftLeft(two, shift), 32);
  }
  Value turn = d.addInt(d.shiftLeft(d.mulInt(m, window[0]), 32),
                        d.addInt(d.mulInt(m, window[1]),
                                 d.shiftDown(d.mulInt(m, window[2]), 32)));
  Value n = d.shiftDown(d.addInt(turn, d.integer(int64_t(1) << 61)), 62);
  Value rest = d.toFloat(d.subInt(turn, d.shiftLeft(n, 62)));
  rest = d.mul(rest, d.constant(0x1.921fb54442d18p-62)); // pi/2 2^-62
  Value quarters = f.convertInt(n), negative = f.less(x, 0.0);
  return {d.select(negative, d.negate(rest), rest),
          f.select(negative, f.subInt(f.integer(0), quarters), quarters)};
}

Angle reduce(Real &f, Value x) {
  Angle near = reduceNear(f, x);
  Value size = f.abs(x);
  Value far = f.both(f.greater(size, kLargestNear), f.less(size, kInfinity));
  ImplicitLocOpBuilder &b = f.builder();
  auto branch = scf::IfOp::create(
      b, f.any(far),
      [&](OpBuilder &nested, Location loc) {
        ImplicitLocOpBuilder inner(loc, nested);
        Real g(inner, x.getType());
        Angle all = reduceFar(g, x);
        scf::YieldOp::create(
            inner, loc,
            ValueRange{g.select(far, all.rest, near.rest),
                       g.select(far, all.quarters, near.quarters)});
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, ValueRange{near.rest, near.quarters});
      });
  return {branch.getResult(0), branch.getResult(1)};
}

struct SineAndCosine {
  Value sine, cosine;
};

/// Of an angle's rest, in the precision of `f`.
SineAndCosine ofRest(Real &f, Value r) {
  Value s = f.mul(r, r);
  Value p = f.polynomial(
      s, {-0.166666672f, 0.00833338033f, -0.000198535054f, 2.83739519e-06f});
  Value q = f.polynomial(s, {0.0416666456f, -0.00138873013f, 2.44306611e-05f});
  Value flat = f.sub(f.constant(1.0), f.mul(s, f.constant(0.5)));
  return {f.add(f.mul(f.mul(r, s), p), r), f.add(f.mul(f.mul(s, s), q), flat)};
}

/// The sine of an angle of which `quarters` more are added.
Value sineBehind(Real &f, Value x, int64_t quarters) {
  Angle angle = reduce(f, x);
  SineAndCosine of = ofRest(f, f.convert(angle.rest));
  Value n = f.addInt(angle.quarters, f.integer(quarters));
  Value even = f.equalInt(f.both(n, f.integer(1)), 0);
  Value result = f.select(even, of.sine, of.cosine);
  Value sign = f.shiftLeft(f.both(n, f.integer(2)), 30);
  return f.fromBits(
      f.builder().createOrFold<arith::XOrIOp>(f.bits(result), sign));
}

Value sin(Real &f, ValueRange x) {
  return f.select(f.equal(x[0], 0.0), x[0], sineBehind(f, x[0], 0));
}
Value cos(Real &f, ValueRange x) { return sineBehind(f, x[0], 1); }

/// The quotient of two rounded functions would be too far off: stays in f64.
Value tan(Real &f, ValueRange x) {
  Angle angle = reduce(f, x[0]);
  Real d = f.doubles();
  SineAndCosine of = ofRest(d, angle.rest);
  Value even = f.equalInt(f.both(angle.quarters, f.integer(1)), 0);
  Value result = d.div(d.select(even, of.sine, d.negate(of.cosine)),
                       d.select(even, of.cosine, of.sine));
  return f.select(f.equal(x[0], 0.0), x[0], f.convert(result));
}

} // namespace

void addTrigonometry(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Approximate<math::SinOp>>(context, sin);
  patterns.add<Approximate<math::CosOp>>(context, cos);
  patterns.add<Approximate<math::TanOp>>(context, tan);
}

} // namespace ltc::compiler
