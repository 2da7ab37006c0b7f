//===- powers.cpp - Powers, hyperbolic functions, remainders ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32, for every argument, within 2 ULP, and so are sinh and cosh in f64;
// remainders are exact. Powers of two numbers and erfc are worked out in f64,
// where a logarithm loses nothing that the exponent could make large.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value finishPower(Real &f, Value x, Value y, Value result) {
  Value size = f.abs(x);
  Value one = f.constant(1.0), half = f.mul(y, f.constant(0.5));
  Value isWhole = f.equal(f.nearest(y), y);
  Value isEven = f.equal(f.nearest(half), half);
  Value negative = f.less(f.withSign(one, x), 0.0);
  Value nan = f.constant(std::numeric_limits<double>::quiet_NaN());
  Value ofNegative = f.select(isEven, result, f.negate(result));
  // Neither zero nor infinity minds a broken exponent.
  Value plain = f.both(f.less(x, 0.0), f.less(size, kInfinity));
  ofNegative = f.select(isWhole, ofNegative, f.select(plain, nan, result));
  result = f.select(negative, ofNegative, result);
  result = f.select(f.isNaN(x), x, result);
  result = f.select(f.isNaN(y), y, result);
  // These are 1 whatever the other is; (-1)^infinity too.
  Value endless = f.both(f.equal(size, 1.0), f.equal(f.abs(y), kInfinity));
  Value isOne = f.either(f.either(f.equal(x, 1.0), f.equal(y, 0.0)), endless);
  return f.select(isOne, one, result);
}

namespace {

/// 2^x = 2^n 2^r with |r| <= 1/2, which is exact.
Value exp2(Real &f, ValueRange operands) {
  Value x = operands[0];
  x = f.select(f.greater(x, 129.0), f.constant(129.0), x);
  x = f.select(f.less(x, -151.0), f.constant(-151.0), x);
  Value magic = f.constant(12582912.0);
  Value shifted = f.add(x, magic);
  Value r = f.sub(x, f.sub(shifted, magic));
  Value q =
      f.polynomial(r, {0.693147182f, 0.240226507f, 0.0555040613f, 0.0096180886f,
                       0.00133366673f, 0.000154514142f, 1.46707553e-05f});
  Value p = f.add(f.mul(q, r), f.constant(1.0));
  // 2^n in two halves: n reaches beyond what one exponent holds.
  Value whole = f.subInt(f.bits(shifted), f.bits(magic));
  Value half = f.shiftRight(whole, 1);
  auto power = [&](Value exponent) {
    return f.fromBits(f.shiftLeft(f.addInt(exponent, f.integer(127)), 23));
  };
  return f.mul(f.mul(p, power(half)), power(f.subInt(whole, half)));
}

/// Half of e^|x| overflows no sooner than the result.
Value cosh(Real &f, ValueRange x) {
  Value half = approximateExp(f, f.abs(x[0]), -1);
  return f.add(half, f.div(f.constant(0.25), half));
}

Value sinh(Real &f, ValueRange x) {
  Value size = f.abs(x[0]), s = f.mul(size, size);
  Value p = f.isDouble()
                ? f.polynomial(s, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880,
                                   1.0 / 39916800, 1.0 / 6227020800,
                                   1.0 / 1307674368000, 1.0 / 355687428096000})
                : f.polynomial(s, {0.166666672f, 0.00833331142f,
                                   0.000198426351f, 2.78392508e-06f});
  Value small = f.add(f.mul(f.mul(size, s), p), size);
  Value half = approximateExp(f, size, -1);
  Value large = f.sub(half, f.div(f.constant(0.25), half));
  return f.withSign(f.select(f.less(size, 1.0), small, large), x[0]);
}

/// log2 of a positive finite f32, in f64 to 43 bits.
Value log2InDouble(Real &f, Value x) {
  Real d = f.doubles();
  Value bits = d.bits(d.convert(x));
  Value e = d.shiftRight(d.subInt(bits, d.integer(kRootHalf)), 52);
  Value m = d.fromBits(d.subInt(bits, d.shiftLeft(e, 52)));
  Value one = d.constant(1.0);
  Value t = d.div(d.sub(m, one), d.add(m, one));
  Value p =
      d.polynomial(d.mul(t, t), {2.8853900817778482, 0.96179669411560142,
                                 0.57707794176450122, 0.41220931104795289,
                                 0.31990332083641843, 0.28293402115120897});
  return d.add(d.mul(t, p), d.toFloat(e));
}

/// 2^x in f64 to 34 bits, for |x| <= 200.
Value exp2InDouble(Real &d, Value x) {
  Value magic = d.constant(0x1.8p52), shifted = d.add(x, magic);
  Value r = d.sub(x, d.sub(shifted, magic));
  Value p = d.polynomial(r, {0.99999999995955069, 0.69314718053502389,
                             0.24022651213581539, 0.05550410976116802,
                             0.00961802560433557, 0.0013333422639271613,
                             0.0001546973161879956, 1.5316463108701178e-05});
  Value n = d.subInt(d.bits(shifted), d.bits(magic));
  return d.mul(p, d.fromBits(d.shiftLeft(d.addInt(n, d.integer(1023)), 52)));
}

/// e^(-x^2) times a polynomial of u = 1 / (1 + 0.4 x), in f64 for x >= 0; from
/// 10.1 on it is no f32.
Value erfc(Real &f, ValueRange x) {
  Real d = f.doubles();
  Value wide = d.convert(x[0]), size = d.abs(wide), one = d.constant(1.0);
  size = d.select(d.greater(size, 10.1), d.constant(10.1), size);
  Value u = d.div(one, d.add(d.mul(size, d.constant(0.4)), one));
  Value p = d.polynomial(
      u, {0.22568926218213914, 0.22535904400721415, 0.2108472925938218,
          0.15294927531046865, 0.18788138848176753, -0.08267942765161469,
          0.22290879078615, -0.15192741158168724, -0.03813721644079263,
          0.0630353858095596, -0.015926384448785306});
  constexpr double log2e = 0x1.71547652b82fep0;
  Value exponent = d.mul(d.mul(size, size), d.constant(-log2e));
  Value result = d.mul(exp2InDouble(d, exponent), d.mul(u, p));
  Value behind = d.sub(d.constant(2.0), result);
  return f.convert(d.select(d.less(wide, 0.0), behind, result));
}

Value pow(Real &f, ValueRange operands) {
  Value x = operands[0], y = operands[1], size = f.abs(x);
  Real d = f.doubles();
  Value log = log2InDouble(f, size);
  auto whereSize = [&](double is, double then) {
    log = d.select(f.equal(size, is), d.constant(then), log);
  };
  whereSize(0.0, -kInfinity);
  whereSize(1.0, 0.0);
  whereSize(kInfinity, kInfinity);
  Value exponent = d.mul(d.convert(y), log);
  exponent = d.select(d.greater(exponent, 200.0), d.constant(200.0), exponent);
  exponent = d.select(d.less(exponent, -200.0), d.constant(-200.0), exponent);
  return finishPower(f, x, y, f.convert(exp2InDouble(d, exponent)));
}

/// x - n y, exact in f64 while the quotient has fewer than 29 bits; a quotient
/// that rounded up to n makes it a y too small.
Value remainder(Real &f, ValueRange operands) {
  Value x = operands[0], y = operands[1];
  Real d = f.doubles();
  Value wideX = d.convert(x), wideY = d.convert(y);
  Value quotient = d.div(wideX, wideY), zero = d.constant(0.0);
  Value rest = d.sub(wideX, d.mul(d.truncate(quotient), wideY));
  Value crossed = d.less(d.mul(rest, wideX), zero);
  rest = d.select(crossed, d.add(rest, d.withSign(wideY, wideX)), rest);
  Value near = f.convert(rest), size = d.abs(quotient);
  Value finite = f.less(f.abs(x), kInfinity);
  near = f.select(f.both(f.equal(f.abs(y), kInfinity), finite), x, near);

  Value far = d.both(d.greater(size, 0x1p29), d.less(size, kInfinity));
  ImplicitLocOpBuilder &b = f.builder();
  auto branch = scf::IfOp::create(
      b, f.any(far),
      [&](OpBuilder &nested, Location loc) {
        auto exact = arith::RemFOp::create(nested, loc, x, y);
        exact->setAttr(kExact, nested.getUnitAttr());
        scf::YieldOp::create(nested, loc, exact.getResult());
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, near);
      });
  Value result = branch.getResult(0);
  return f.select(f.isNaN(result), result, f.withSign(result, x));
}

} // namespace

void addPowers(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Approximate<math::Exp2Op>>(context, exp2);
  for (unsigned bits : {32, 64}) {
    patterns.add<Approximate<math::CoshOp>>(context, cosh, bits);
    patterns.add<Approximate<math::SinhOp>>(context, sinh, bits);
  }
  patterns.add<Approximate<math::ErfcOp>>(context, erfc);
  patterns.add<Approximate<math::PowFOp>>(context, pow);
  patterns.add<Approximate<arith::RemFOp>>(context, remainder);
}

} // namespace ltc::compiler
