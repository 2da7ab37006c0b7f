//===- math.cpp - Functions as polynomials ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, expm1, tanh and erf on scalars and vectors, in f32 within 2 ULP, in f64
// within 1 (exp 2, expm1 1.1), with the C library's results for zeros,
// infinities and NaN. The coefficients are minimax fits, rounded one by one
// from the leading one on. What neither this file nor those beside it have is
// the C library's, lane by lane.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/math.h"
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace ltc::compiler {

namespace {

/// e^x = 2^n e^r, e^r = 1 + r + rest; r lacks `lost`, which it was rounded by.
struct ExpParts {
  Value r, rest, lost, n;
  Value power(Real &f) const { return f.add(f.add(rest, r), f.constant(1.0)); }
};

/// What the precisions differ in.
struct ExpFit {
  double magic;              // 1.5 times the first number without a fraction
  double high, low;          // ln 2; a multiple of `high` by n is exact
  double least, most;        // beyond, e^x is 0 and infinite
  SmallVector<double, 10> q; // e^r = 1 + r + r^2 q(r)
};

ExpFit expFit(const Real &f) {
  if (f.isDouble())
    return {0x1.8p52,
            0x1.62e42feep-1,
            0x1.a39ef35793c76p-33,
            -746,
            710,
            {0x1.000000000000bp-1, 0x1.555555555550fp-3, 0x1.55555555502a0p-5,
             0x1.1111111122b4ap-7, 0x1.6c16c1852c01cp-10, 0x1.a01a014498ae6p-13,
             0x1.a01997c656a0fp-16, 0x1.71deec62e8918p-19,
             0x1.28af42a60c9fap-22, 0x1.add773f1864b3p-26}};
  return {0x1.8p23,
          0x1.62e4p-1,
          0x1.7f7d1cp-20,
          -104,
          90,
          {0.5f, 0.166666687f, 0.0416664518f, 0.00833286904f, 0.0013936141f,
           0.000201265182f}};
}

/// x = n ln 2 + r with |r| <= ln 2 / 2. Rounding to n by adding `magic` keeps a
/// NaN a NaN without a conversion that has no value for it.
ExpParts splitExp(Real &f, Value x, const ExpFit &fit) {
  Value magic = f.constant(fit.magic);
  Value shifted = f.add(f.mul(x, f.constant(0x1.71547652b82fep0)), magic);
  Value n = f.sub(shifted, magic);
  Value near = f.sub(x, f.mul(n, f.constant(fit.high)));
  Value low = f.mul(n, f.constant(fit.low));
  Value r = f.sub(near, low);
  Value rest = f.mul(f.mul(r, r), f.polynomial(r, fit.q));
  Value lost = f.sub(f.sub(near, r), low);
  return {r, rest, lost, f.subInt(f.bits(shifted), f.bits(magic))};
}

/// e^x of a NaN, or where it is a normal number.
Value normalExp(Real &f, Value x) {
  ExpParts e = splitExp(f, x, expFit(f));
  return f.mul(e.power(f), f.powerOfTwo(e.n));
}

} // namespace

Value approximateExp(Real &f, Value x, int64_t shift) {
  ExpFit fit = expFit(f);
  double most = fit.most - shift; // half of it overflows later
  x = f.select(f.greater(x, most), f.constant(most), x);
  x = f.select(f.less(x, fit.least), f.constant(fit.least), x);
  ExpParts e = splitExp(f, x, fit);
  Value n = shift ? f.addInt(e.n, f.integer(shift)) : e.n;
  return f.scale(e.power(f), n);
}

namespace {

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

/// 2^n e^r - 1, the two largest terms added without a loss. It is
/// half of that, since n reaches 1024, until the end.
Value expm1F64(Real &f, Value x) {
  ExpFit fit = expFit(f);
  constexpr double least = -40; // below, it rounds to -1
  Value far = f.select(f.greater(x, fit.most), f.constant(fit.most), x);
  far = f.select(f.less(far, least), f.constant(least), far);
  ExpParts e = splitExp(f, far, fit);
  Value scale = f.powerOfTwo(f.subInt(e.n, f.integer(1)));
  Value whole = f.sub(scale, f.constant(0.5)), part = f.mul(scale, e.r);
  Value sum = f.add(whole, part);
  Value lost = f.add(f.sub(whole, sum), part);
  lost = f.add(lost, f.sub(f.sub(scale, whole), f.constant(0.5)));
  // All of q but its first term is so small that its error does not count.
  Value square = f.mul(e.r, e.r);
  Value tail = f.polynomial(e.r, ArrayRef(fit.q).drop_front());
  Value rest = f.add(f.mul(square, f.constant(fit.q[0])),
                     f.mul(f.mul(square, e.r), tail));
  lost = f.add(lost, f.mul(scale, f.add(rest, e.lost)));
  Value half = f.add(sum, lost);
  // What rounds to itself keeps its sign, and a digit that half of it lacks.
  return f.select(f.less(f.abs(x), 0x1p-54), x, f.add(half, half));
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

Value tanhF64(Real &f, Value x) {
  Value s = f.mul(x, x);
  Value q = f.polynomial(
      s,
      {-0x1.555555555550fp-2, 0x1.111111110d7dfp-3, -0x1.ba1ba1b80fde7p-5,
       0x1.664f48368729bp-6, -0x1.226e2ebcdaf68p-7, 0x1.d6d30fad0eff1p-9,
       -0x1.7d9bc957614d9p-10, 0x1.35212b61d7248p-11, -0x1.f335d9cff942ap-13,
       0x1.8d797758e648bp-14, -0x1.2eb07efdd0c9ap-15, 0x1.9e05866cdaa72p-17,
       -0x1.cace84b3714b4p-19, 0x1.5f2a49cbda11ap-21, -0x1.0d07674224816p-24});
  Value small = f.add(f.mul(f.mul(s, x), q), x);
  Value t = f.abs(x);
  Value far = f.select(f.greater(t, 20.0), f.constant(20.0), t);
  Value e = normalExp(f, f.add(far, far)), one = f.constant(1.0);
  Value large = f.sub(one, f.div(f.constant(2.0), f.add(e, one)));
  return f.withSign(f.select(f.less(t, 1.0), small, large), x);
}

using Exp = llvm::function_ref<Value(Value)>;

Value erfF32(Real &f, Value x, Exp exp) {
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
  Value large = f.sub(f.constant(1.0f), exp(r));
  return f.withSign(f.select(f.less(t, 1.0f), small, large), x);
}

/// A polynomial below `cut`, 1 - e^r above, where r is one too.
Value erfF64(Real &f, Value x, Exp exp) {
  constexpr double cut = 1;
  Value s = f.mul(x, x);
  Value q = f.polynomial(s, {0x1.06eba8214db68p-3, -0x1.812746b03799dp-2,
                             0x1.ce2f21a03f8bbp-4, -0x1.b82ce311a98fap-6,
                             0x1.565bcceede0b3p-8, -0x1.c02daeb7d3641p-11,
                             0x1.f9a296cdcb72ep-14, -0x1.f4c830e4ea7b7p-17,
                             0x1.b96b6dac2b2aap-20, -0x1.5b8d0b25c96adp-23,
                             0x1.d3e28b2c65f15p-27, -0x1.a24e5b7bb41bcp-31});
  Value small = f.add(f.mul(x, q), x);
  Value t = f.abs(x);
  t = f.select(f.greater(t, 6.0), f.constant(6.0), t);
  // The largest term in two parts: r is close to it where most depends on r.
  Value r = f.polynomial(
      f.sub(t, f.constant(cut)),
      {-0x1.b7a6cf09f0e16p-55, -0x1.51c9b0006c21ep+1, -0x1.afabc11a2aceep-1,
       -0x1.5477f099ef9a7p-5, 0x1.48c9d388a3568p-7, -0x1.033f5ae5952b8p-9,
       0x1.f1b07ce11dc85p-13, 0x1.b929c27fdbc2dp-16, -0x1.c84b2b66d5992p-16,
       0x1.4470981a2c54fp-17, -0x1.1dd8158f5a812p-19, 0x1.b46edf26147a4p-23,
       0x1.f9571b9d10453p-25, -0x1.21718b57458f6p-25, 0x1.276d055e8d171p-27,
       -0x1.6e59367d48ea1p-30, 0x1.097a1ff017dacp-33, -0x1.5ade507c1f3b8p-38});
  r = f.add(r, f.constant(-0x1.d97fbf27aa2a1p+0));
  Value large = f.sub(f.constant(1.0), exp(r));
  return f.withSign(f.select(f.less(t, cut), small, large), x);
}

} // namespace

Value approximateErf(Real &f, Value x, Exp exp) {
  return f.isDouble() ? erfF64(f, x, exp) : erfF32(f, x, exp);
}

namespace {

Value erf(Real &f, Value x) {
  return approximateErf(f, x, [&](Value r) { return normalExp(f, r); });
}

template <Value function(Real &, Value)>
Value unary(Real &f, ValueRange operands) {
  return function(f, operands[0]);
}

} // namespace

LogicalResult approximateMath(ModuleOp module, unsigned vectorBits) {
  RewritePatternSet patterns(module.getContext());
  MLIRContext *context = module.getContext();
  patterns.add<Approximate<math::ExpOp>>(context, unary<exp>);
  patterns.add<Approximate<math::ExpOp>>(context, unary<exp>, /*bits=*/64);
  patterns.add<Approximate<math::ExpM1Op>>(context, unary<expm1>);
  patterns.add<Approximate<math::ExpM1Op>>(context, unary<expm1F64>, 64);
  patterns.add<Approximate<math::TanhOp>>(context, unary<tanh>);
  patterns.add<Approximate<math::TanhOp>>(context, unary<tanhF64>, 64);
  patterns.add<Approximate<math::ErfOp>>(context, unary<erf>);
  patterns.add<Approximate<math::ErfOp>>(context, unary<erf>, 64);
  addLogarithms(patterns);
  addTrigonometry(patterns);
  addInverseTrigonometry(patterns);
  addPowers(patterns);
  addTrigonometryF64(patterns);
  addPowersF64(patterns);
  walkAndApplyPatterns(module, std::move(patterns));
  // AVX-512 has an instruction for it.
  if (vectorBits < 512)
    takeScalesApart(module);
  return success();
}

} // namespace ltc::compiler
