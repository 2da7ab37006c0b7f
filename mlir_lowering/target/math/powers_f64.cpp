//===- powers_f64.cpp - Powers in f64 ---------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Within 1 ULP, remainders exact. x^y is 2^(y log2 x). An exponent of 1000
// takes ten digits of the logarithm, which is therefore made of two numbers
// (Dekker 1971).
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The sum of two numbers, of which the second has the digits that the first
/// lacks.
struct Pair {
  Value high, low;
};

/// Arithmetic on pairs, each product and sum of which is rounded by itself.
struct Pairs {
  Real f;

  Pair constant(double high, double low) {
    return {f.constant(high), f.constant(low)};
  }
  /// Of numbers of which the first is the larger.
  Pair add(Value x, Value y) {
    Value sum = f.add(x, y);
    return {sum, f.add(f.sub(x, sum), y)};
  }
  Pair add(Value x, Pair y) {
    Pair sum = add(x, y.high);
    return {sum.high, f.add(sum.low, y.low)};
  }
  Pair add(Pair x, Pair y) {
    Pair sum = add(x.high, y);
    return {sum.high, f.add(sum.low, x.low)};
  }
  Pair mul(Value x, Pair y) {
    Value high = f.mul(x, y.high);
    Value low = f.fma(x, y.high, f.negate(high));
    return {high, f.fma(x, y.low, low)};
  }
  Pair mul(Pair x, Pair y) {
    Pair product = mul(x.high, y);
    return {product.high, f.fma(x.low, y.high, product.low)};
  }
};

/// log2 of a positive finite number, to 64 bits.
Pair log2F64(Real &f, Value x) {
  Pairs p{f.apart()};
  Value tiny = f.less(x, 0x1p-1022);
  Value bits = f.bits(f.select(tiny, f.mul(x, f.constant(0x1p54)), x));
  Value whole = f.shiftRight(f.subInt(bits, f.integer(kRootHalf)), 52);
  Value m = f.fromBits(f.subInt(bits, f.shiftLeft(whole, 52)));
  Value e = f.sub(f.toFloat(whole),
                  f.select(tiny, f.constant(54.0), f.constant(0.0)));
  // s = (m - 1) / (m + 1): what of the numerator the rounded s leaves over is
  // divided again.
  Value one = f.constant(1.0), t = f.sub(m, one);
  Pair under = p.add(m, one);
  under.low = f.sub(m, f.sub(under.high, one));
  Value near = f.div(t, under.high), back = f.negate(near);
  Value over = f.fma(back, under.low, f.fma(back, under.high, t));
  Pair s{near, f.div(over, under.high)};
  // log2 m = s (2/ln 2 + z (2/3 / ln 2 + z tail(z))), z = s^2
  Pair z = p.mul(s, s);
  Value tail = f.polynomial(
      z.high, {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aedddp-2, 0x1.484b13d6acfebp-2,
               0x1.0c9a853ae92c0p-2, 0x1.c68ee96657577p-3, 0x1.8a09b6bc6e8a0p-3,
               0x1.58fce3830d348p-3, 0x1.61f0140592267p-3});
  Pair third = p.constant(0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55);
  Pair inner = p.add(third.high, {p.f.mul(z.high, tail), third.low});
  Pair sum = p.add(p.constant(0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55),
                   p.mul(z, inner));
  return p.add(e, p.mul(s, sum));
}

/// 2^(x + low), where x may be too large for it.
Value exp2F64(Real &f, Value x, Value low) {
  constexpr double most = 1100;
  Value far = f.greater(f.abs(x), most);
  x = f.select(far, f.withSign(f.constant(most), x), x);
  low = f.select(far, f.constant(0.0), low);
  Value magic = f.constant(0x1.8p52), shifted = f.add(x, magic);
  Value r = f.add(f.sub(x, f.sub(shifted, magic)), low);
  Value p =
      f.add(f.mul(f.polynomial(r, {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a6p-3,
                                   0x1.c6b08d704a3aep-5, 0x1.3b2ab6fb9ee4fp-7,
                                   0x1.5d87fe77dbba7p-10, 0x1.430913147d923p-13,
                                   0x1.ffcc010ae7d04p-17, 0x1.62bfb6427450ap-20,
                                   0x1.b519f696687d4p-24, 0x1.e63cfb1b0c012p-28,
                                   0x1.fbf8de80e5d80p-32}),
                  r),
            f.constant(1.0));
  // 2^n in two halves: n reaches beyond what one exponent holds.
  Value n = f.subInt(f.bits(shifted), f.bits(magic));
  Value half = f.shiftRight(n, 1);
  auto power = [&](Value exponent) {
    return f.fromBits(f.shiftLeft(f.addInt(exponent, f.integer(1023)), 52));
  };
  return f.mul(f.mul(p, power(half)), power(f.subInt(n, half)));
}

Value pow(Real &f, ValueRange operands) {
  Value x = operands[0], y = operands[1], size = f.abs(x);
  Pairs p{f.apart()};
  Pair log = log2F64(f, size);
  auto whereSize = [&](double is, double then) {
    Value there = f.equal(size, is);
    log.high = f.select(there, f.constant(then), log.high);
    log.low = f.select(there, f.constant(0.0), log.low);
  };
  whereSize(0.0, -kInfinity);
  whereSize(kInfinity, kInfinity);
  Pair exponent = p.mul(y, log);
  return finishPower(f, x, y, exp2F64(f, exponent.high, exponent.low));
}

Value exp2(Real &f, ValueRange x) { return exp2F64(f, x[0], f.constant(0.0)); }

/// x - n y, exact while n is: both are multiples of the last digit of y. A
/// quotient that rounded up to n makes it a y too small.
Value remainder(Real &f, ValueRange operands) {
  Value x = f.abs(operands[0]), y = f.abs(operands[1]);
  Value quotient = f.div(x, y);
  Value rest = f.fma(f.negate(f.truncate(quotient)), y, x);
  rest = f.select(f.less(rest, 0.0), f.add(rest, y), rest);
  rest = f.select(f.less(x, y), x, rest); // also of an infinite y
  Value far = f.greater(quotient, 0x1p53);
  Value result = f.exactWhere<arith::RemFOp>(far, rest, {x, y});
  return f.select(f.isNaN(result), result, f.withSign(result, operands[0]));
}

} // namespace

void addPowersF64(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Approximate<math::PowFOp>>(context, pow, /*bits=*/64);
  patterns.add<Approximate<math::Exp2Op>>(context, exp2, /*bits=*/64);
  patterns.add<Approximate<arith::RemFOp>>(context, remainder, /*bits=*/64);
}

} // namespace ltc::compiler
