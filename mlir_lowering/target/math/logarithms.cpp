//===- logarithms.cpp - Logarithms, natural and others ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32 within 2 ULP, in f64 within 1; log1p and atanh within 2 in both. The
// logarithm of x = 2^e m is a polynomial of t = m - 1 in f32, and in f64 an odd
// one of t / (t + 2), which takes half as many terms.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)), t = m - 1, ln m = t + rest.
struct LogParts {
  Value e, t, rest;
};

LogParts splitLog(Real &f, Value x) {
  Value tiny = f.less(x, 0x1p-126f);
  Value scaled = f.select(tiny, f.mul(x, f.constant(0x1p23f)), x);
  Value bits = f.subInt(f.bits(scaled), f.integer(0x3f3504f3)); // sqrt(1/2)
  Value whole = f.shiftRight(bits, 23);
  Value m = f.fromBits(f.subInt(f.bits(scaled), f.shiftLeft(whole, 23)));
  Value e = f.sub(f.toFloat(whole),
                  f.select(tiny, f.constant(23.0f), f.constant(0.0f)));
  Value t = f.sub(m, f.constant(1.0f));
  Value q =
      f.polynomial(t, {0.333333313f, -0.249999672f, 0.200001717f, -0.166694269f,
                       0.142829224f, -0.124227241f, 0.11061085f, -0.108499274f,
                       0.105303243f, -0.0581276678f});
  return {e, t, f.mul(f.mul(f.mul(t, t), t), q)};
}

/// Of infinity, zero, negative numbers and NaN.
Value finishLog(Real &f, Value x, Value result) {
  result = f.select(f.equal(x, kInfinity), x, result);
  result = f.select(f.equal(x, 0.0f), f.constant(-kInfinity), result);
  Value nan = f.constant(std::numeric_limits<float>::quiet_NaN());
  result = f.select(f.less(x, 0.0f), nan, result);
  return f.select(f.isNaN(x), x, result);
}

Value log(Real &f, Value x) {
  LogParts p = splitLog(f, x);
  Value low = f.add(p.rest, f.mul(p.e, f.constant(-2.12194440e-4f)));
  low = f.sub(low, f.mul(f.mul(p.t, p.t), f.constant(0.5f)));
  Value result = f.add(f.add(low, p.t), f.mul(p.e, f.constant(0.693359375f)));
  return finishLog(f, x, result);
}

/// 1 / ln 2 is 1 + 0.44...: the 1 costs no rounding.
Value log2(Real &f, Value x) {
  LogParts p = splitLog(f, x);
  Value y = f.sub(p.rest, f.mul(f.mul(p.t, p.t), f.constant(0.5f)));
  Value excess = f.constant(0.442695041f);
  Value z = f.add(f.mul(p.t, excess), f.mul(y, excess));
  return finishLog(f, x, f.add(f.add(f.add(z, y), p.t), p.e));
}

/// 1 / ln 10 and log10(2) in two parts, of which the first has few digits.
Value log10(Real &f, Value x) {
  LogParts p = splitLog(f, x);
  Value y = f.sub(p.rest, f.mul(f.mul(p.t, p.t), f.constant(0.5f)));
  Value z = f.mul(f.add(p.t, y), f.constant(7.00731903e-4f));
  z = f.add(z, f.mul(p.e, f.constant(2.48745664e-4f)));
  z = f.add(z, f.mul(y, f.constant(0.43359375f)));
  z = f.add(z, f.mul(p.t, f.constant(0.43359375f)));
  return finishLog(f, x, f.add(z, f.mul(p.e, f.constant(0.30078125f))));
}

/// ln m in two parts; the first has so few digits that products of it and of a
/// constant as short are exact.
struct LogPartsF64 {
  Value e, high, low;
};

LogPartsF64 splitLogF64(Real &f, Value x) {
  Value tiny = f.less(x, 0x1p-1022);
  Value scaled = f.select(tiny, f.mul(x, f.constant(0x1p54)), x);
  Value bits = f.bits(scaled);
  Value whole = f.shiftRight(f.subInt(bits, f.integer(kRootHalf)), 52);
  Value m = f.fromBits(f.subInt(bits, f.shiftLeft(whole, 52)));
  Value e = f.sub(f.toFloat(whole),
                  f.select(tiny, f.constant(54.0), f.constant(0.0)));
  // ln m = t - h + s (h + r) with h = t^2 / 2
  Value t = f.sub(m, f.constant(1.0));
  Value s = f.div(t, f.add(t, f.constant(2.0)));
  Value z = f.mul(s, s);
  Value r =
      f.mul(z, f.polynomial(z, {0x1.5555555555592p-1, 0x1.999999997ff02p-2,
                                0x1.24924941e386bp-2, 0x1.c71c5211ef8f5p-3,
                                0x1.74663d848e3abp-3, 0x1.39a1d752ff01cp-3,
                                0x1.2f047d86d18dfp-3}));
  Value h = f.mul(f.mul(t, t), f.constant(0.5));
  Value high = f.fromBits(
      f.both(f.bits(f.sub(t, h)), f.integer(int64_t(0xFFFFFFFF00000000))));
  Value low = f.sub(f.sub(t, high), h);
  return {e, high, f.add(low, f.mul(s, f.add(h, r)))};
}

/// A number in two parts, of which the first has few digits.
struct InTwo {
  double high, low;
};

/// ln x times `scale`, of which e times `unit` is the whole part.
Value scaledLog(Real &f, Value x, InTwo scale, InTwo unit) {
  LogPartsF64 p = splitLogF64(f, x);
  Value high = p.high, low = p.low;
  if (scale.high != 1) {
    Value rest = f.mul(f.add(p.low, p.high), f.constant(scale.low));
    low = f.add(rest, f.mul(p.low, f.constant(scale.high)));
    high = f.mul(p.high, f.constant(scale.high));
  }
  Value whole = f.mul(p.e, f.constant(unit.high));
  low = f.add(low, f.mul(p.e, f.constant(unit.low)));
  Value sum = f.add(whole, high);
  low = f.add(low, f.add(f.sub(whole, sum), high));
  return finishLog(f, x, f.add(low, sum));
}

Value logF64(Real &f, Value x) {
  return scaledLog(f, x, {1, 0}, {0x1.62e42fefa2p-1, 0x1.9ef35793c7673p-41});
}
Value log2F64(Real &f, Value x) {
  return scaledLog(f, x, {0x1.7154765p+0, 0x1.5c17f0bbbe880p-31}, {1, 0});
}
Value log10F64(Real &f, Value x) {
  return scaledLog(f, x, {0x1.bcb7b15p-2, 0x1.37287195355bbp-33},
                   {0x1.34413509f6p-2, 0x1.9fef311f12b36p-42});
}

/// With u = 1 + x rounded, ln(1 + x) = ln u + lost / u for what was lost.
Value log1p(Real &f, Value x) {
  Value one = f.constant(1.0f);
  Value u = f.add(x, one);
  Value lost = f.select(f.less(x, 1.0f), f.sub(x, f.sub(u, one)),
                        f.sub(one, f.sub(u, x)));
  Value result = f.isDouble() ? logF64(f, u) : log(f, u);
  Value corrected = f.add(result, f.div(lost, u));
  result = f.select(f.equal(lost, 0.0f), result, corrected);
  result = f.select(f.equal(u, 1.0f), x, result);
  return f.select(f.equal(u, kInfinity), u, result);
}

/// Half of ln((1 + x) / (1 - x)).
Value atanh(Real &f, Value x) {
  Value size = f.abs(x), s = f.mul(size, size), one = f.constant(1.0);
  Value q =
      f.polynomial(s, {0.333333343f, 0.199999586f, 0.142882854f, 0.110508308f,
                       0.0975194126f, 0.0409162305f, 0.156291656f});
  Value small = f.add(f.mul(f.mul(size, s), q), size);
  Value quotient = f.div(f.add(size, one), f.sub(one, size));
  Value large = f.mul(log(f, quotient), f.constant(0.5));
  return f.withSign(f.select(f.less(size, 0.5), small, large), x);
}

Value atanhF64(Real &f, Value x) {
  Value size = f.abs(x), twice = f.add(size, size);
  Value isSmall = f.less(size, 0.5);
  Value over = f.select(isSmall, f.mul(twice, size), twice);
  Value quotient = f.div(over, f.sub(f.constant(1.0), size));
  quotient = f.select(isSmall, f.add(twice, quotient), quotient);
  return f.withSign(f.mul(log1p(f, quotient), f.constant(0.5)), x);
}

template <Value function(Real &, Value)>
Value unary(Real &f, ValueRange operands) {
  return function(f, operands[0]);
}

} // namespace

void addLogarithms(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Approximate<math::LogOp>>(context, unary<log>);
  patterns.add<Approximate<math::LogOp>>(context, unary<logF64>, 64);
  patterns.add<Approximate<math::Log2Op>>(context, unary<log2>);
  patterns.add<Approximate<math::Log2Op>>(context, unary<log2F64>, 64);
  patterns.add<Approximate<math::Log10Op>>(context, unary<log10>);
  patterns.add<Approximate<math::Log10Op>>(context, unary<log10F64>, 64);
  patterns.add<Approximate<math::Log1pOp>>(context, unary<log1p>);
  patterns.add<Approximate<math::Log1pOp>>(context, unary<log1p>, 64);
  patterns.add<Approximate<math::AtanhOp>>(context, unary<atanh>);
  patterns.add<Approximate<math::AtanhOp>>(context, unary<atanhF64>, 64);
}

} // namespace ltc::compiler
