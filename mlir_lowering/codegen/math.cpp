//===- math.cpp - Functions as polynomials ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, expm1, logarithms, tanh and erf in f32, and exp in f64, on scalars and
// vectors, within 2 ULP, with the C library's results for zeros, infinities and
// NaN. The coefficients are minimax fits, rounded one by one from the leading
// one on. log1p and expm1 in f64 are made of log and exp, within a few ULP. All
// else is the C library's, lane by lane.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {

namespace {

/// e^x = 2^n p
struct ExpParts {
  Value p, n;
};

/// What the precisions differ in.
struct ExpFit {
  double magic;       // 1.5 times the first number without a fraction
  double high, low;   // ln 2; a multiple of `high` by n is exact
  double least, most; // beyond, e^x is 0 and infinite
  int64_t bias, digits;
  SmallVector<double, 10> q; // e^r = 1 + r + r^2 q(r)
};

ExpFit expFit(const Real &f) {
  if (f.isDouble())
    return {0x1.8p52,
            0x1.62e42feep-1,
            0x1.a39ef35793c76p-33,
            -746,
            710,
            1023,
            52,
            {0x1.000000000000bp-1, 0x1.555555555550fp-3, 0x1.55555555502a0p-5,
             0x1.1111111122b4ap-7, 0x1.6c16c1852c01cp-10, 0x1.a01a014498ae6p-13,
             0x1.a01997c656a0fp-16, 0x1.71deec62e8918p-19,
             0x1.28af42a60c9fap-22, 0x1.add773f1864b3p-26}};
  return {0x1.8p23,
          0x1.62e4p-1,
          0x1.7f7d1cp-20,
          -104,
          90,
          127,
          23,
          {0.5f, 0.166666687f, 0.0416664518f, 0.00833286904f, 0.0013936141f,
           0.000201265182f}};
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; p = e^r. Rounding to n by adding
/// `magic` keeps a NaN a NaN without a conversion that has no value for it.
ExpParts splitExp(Real &f, Value x, const ExpFit &fit) {
  Value magic = f.constant(fit.magic);
  Value shifted = f.add(f.mul(x, f.constant(0x1.71547652b82fep0)), magic);
  Value n = f.sub(shifted, magic);
  Value r = f.sub(x, f.mul(n, f.constant(fit.high)));
  r = f.sub(r, f.mul(n, f.constant(fit.low)));
  Value q = f.polynomial(r, fit.q);
  Value p = f.add(f.add(f.mul(f.mul(r, r), q), r), f.constant(1.0));
  return {p, f.subInt(f.bits(shifted), f.bits(magic))};
}

Value powerOfTwo(Real &f, Value n, const ExpFit &fit) {
  return f.fromBits(f.shiftLeft(f.addInt(n, f.integer(fit.bias)), fit.digits));
}

/// e^x of a NaN, or where it is a normal number.
Value normalExp(Real &f, Value x) {
  ExpFit fit = expFit(f);
  auto [p, n] = splitExp(f, x, fit);
  return f.mul(p, powerOfTwo(f, n, fit));
}

} // namespace

Value approximateExp(Real &f, Value x, int64_t shift) {
  ExpFit fit = expFit(f);
  x = f.select(f.greater(x, fit.most), f.constant(fit.most), x);
  x = f.select(f.less(x, fit.least), f.constant(fit.least), x);
  auto [p, n] = splitExp(f, x, fit);
  if (shift)
    n = f.addInt(n, f.integer(shift));
  // 2^n in two halves: n reaches beyond what one exponent holds.
  Value half = f.shiftRight(n, 1);
  return f.mul(f.mul(p, powerOfTwo(f, half, fit)),
               powerOfTwo(f, f.subInt(n, half), fit));
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Value exp(Real &f, Value x) { return approximateExp(f, x); }

Value expm1(Real &f, Value x) {
  Value q = f.polynomial(x, {0.5f, 0.166666672f, 0.0416666791f, 0.0083332872f,
                             0.00138877414f, 0.000198536785f, 2.51210822e-05f,
                             2.66627717e-06f});
  Value small = f.add(f.mul(f.mul(x, x), q), x);
  // Zero and what rounds to itself keep their sign.
  small = f.select(f.equal(x, 0.0f), x, small);
  Value large = f.sub(exp(f, x), f.constant(1.0f));
  return f.select(f.less(f.abs(x), 0.75f), small, large);
}

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

/// With u = 1 + x rounded, ln(1 + x) = ln u + lost / u for what was lost.
Value log1p(Real &f, Value x) {
  Value one = f.constant(1.0f);
  Value u = f.add(x, one);
  Value lost = f.select(f.less(x, 1.0f), f.sub(x, f.sub(u, one)),
                        f.sub(one, f.sub(u, x)));
  Value result = log(f, u);
  Value corrected = f.add(result, f.div(lost, u));
  result = f.select(f.equal(lost, 0.0f), result, corrected);
  result = f.select(f.equal(u, 1.0f), x, result);
  return f.select(f.equal(u, kInfinity), u, result);
}

Value tanh(Real &f, Value x) {
  Value s = f.mul(x, x);
  Value q = f.polynomial(s, {-0.333333284f, 0.133331239f, -0.0539373308f,
                             0.0216523837f, -0.00806391705f, 0.00204336434f});
  Value small = f.add(f.mul(f.mul(s, x), q), x);
  Value t = f.abs(x);
  Value far = f.select(f.greater(t, 10.0f), f.constant(10.0f), t);
  Value e = normalExp(f, f.add(far, far));
  Value one = f.constant(1.0f);
  Value large = f.sub(one, f.div(f.constant(2.0f), f.add(e, one)));
  return f.withSign(f.select(f.less(t, 0.65f), small, large), x);
}

Value erf(Real &f, Value x) {
  Value s = f.mul(x, x);
  Value q = f.polynomial(s, {0.128379166f, -0.376126349f, 0.112837434f,
                             -0.0268635508f, 0.00521640619f, -0.000842323236f,
                             0.000108587818f, -8.57798841e-06f});
  Value small = f.add(f.mul(x, q), x);
  Value t = f.abs(x);
  t = f.select(f.greater(t, 4.0f), f.constant(4.0f), t);
  Value r = f.polynomial(t, {0.000188471415f, -1.12958038f, -0.633216143f,
                             -0.108422525f, 0.0252107158f, -0.00420546671f,
                             0.000441518059f, -2.17021607e-05f});
  Value large = f.sub(f.constant(1.0f), normalExp(f, r));
  return f.withSign(f.select(f.less(t, 1.0f), small, large), x);
}

template <Value function(Real &, Value)>
Value unary(Real &f, ValueRange operands) {
  return function(f, operands[0]);
}

bool isDouble(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

Value realLike(ImplicitLocOpBuilder &b, Value x, double value) {
  TypedAttr one = b.getF64FloatAttr(value);
  if (auto shaped = dyn_cast<ShapedType>(x.getType()))
    one = DenseElementsAttr::get(shaped, mlir::Attribute(one));
  return arith::ConstantOp::create(b, one);
}

/// MLIR's own conversion is log(1 + x), which has no digits of a small x.
struct Log1pInDouble : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDouble(op))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    Value one = realLike(b, x, 1);
    Value most = realLike(b, x, kInfinity);
    Value u = arith::AddFOp::create(b, x, one);
    Value ratio = arith::DivFOp::create(b, x, arith::SubFOp::create(b, u, one));
    Value result = arith::MulFOp::create(b, math::LogOp::create(b, u), ratio);
    auto equal = arith::CmpFPredicate::OEQ;
    Value keeps = arith::CmpFOp::create(b, equal, u, one);
    result = arith::SelectOp::create(b, keeps, x, result);
    Value infinite = arith::CmpFOp::create(b, equal, u, most);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, infinite, u, result);
    return success();
  }
};

/// The same for exp(x) - 1: with u = exp(x) rounded, (u - 1) * x / ln u.
struct ExpM1InDouble : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    if (!isDouble(op))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    Value one = realLike(b, x, 1);
    Value u = math::ExpOp::create(b, x);
    Value large = arith::SubFOp::create(b, u, one);
    Value ratio = arith::DivFOp::create(b, x, math::LogOp::create(b, u));
    Value small = arith::MulFOp::create(b, large, ratio);
    Value keeps = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, u, one);
    small = arith::SelectOp::create(b, keeps, x, small);
    Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                          math::AbsFOp::create(b, x), one);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, small, large);
    return success();
  }
};

} // namespace

LogicalResult approximateMath(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  MLIRContext *context = module.getContext();
  patterns.add<Approximate<math::ExpOp>>(context, unary<exp>);
  patterns.add<Approximate<math::ExpOp>>(context, unary<exp>, /*bits=*/64);
  patterns.add<Approximate<math::ExpM1Op>>(context, unary<expm1>);
  patterns.add<Approximate<math::LogOp>>(context, unary<log>);
  patterns.add<Approximate<math::Log2Op>>(context, unary<log2>);
  patterns.add<Approximate<math::Log10Op>>(context, unary<log10>);
  patterns.add<Approximate<math::Log1pOp>>(context, unary<log1p>);
  patterns.add<Approximate<math::TanhOp>>(context, unary<tanh>);
  patterns.add<Approximate<math::ErfOp>>(context, unary<erf>);
  addTrigonometry(patterns);
  addPowers(patterns);
  patterns.add<Log1pInDouble, ExpM1InDouble>(context);
  walkAndApplyPatterns(module, std::move(patterns));
  return success();
}

} // namespace ltc::compiler
