//===- pointwise.cpp - Arithmetic, element by element -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <cmath>

namespace ltc::compiler {

/// What a quotient or power of two tensors is rounded to on its way; a number
/// takes part as it is.
static DType storedDType(const OpCall &op) {
  return op.arguments[1].value.isTensor() ? op.result().dtype : DType::F64;
}

/// -alpha, of an integer as one: its zero has no sign, its lowest keeps its
/// own.
static Value negated(Scalar s, const Elements &e, Value alpha) {
  Value number = e.op["alpha"];
  if (number.isLiteral() || isFloat(number.dtype()))
    return s.neg(alpha);
  return s.rounded(s.cast(s.neg(number), alpha.dtype()), e.op.result().dtype);
}

/// x + sign * alpha * y; alpha is missing in the _foreach_ forms.
static Value addScaled(Scalar s, const Elements &e, Value x, Value y,
                       int sign) {
  Value alpha = e["alpha"];
  if (!alpha || (alpha.isLiteral() && alpha.asReal() == 1))
    return sign < 0 ? s.sub(x, y) : s.add(x, y);
  DType stored = e.op.result().dtype;
  if (sign < 0)
    alpha = negated(s, e, alpha);
  alpha = s.cast(alpha, x.isWeak() ? y.dtype() : x.dtype());
  if (isFloat(stored) && computeDType(stored) == stored)
    return s.mulAdd(y, alpha, x);
  return s.add(x, s.rounded(s.mul(y, alpha), stored));
}

static Value divMode(Scalar s, const Elements &x) {
  Value self = x["self"], other = x["other"];
  DType stored = storedDType(x.op);
  llvm::StringRef mode = x.op.text("rounding_mode");
  if (mode == "trunc" && isFloat(x.op.result().dtype))
    return s.trunc(s.rounded(s.div(self, other), stored));
  if (mode == "trunc")
    return s.divTrunc(self, other);
  if (mode == "floor")
    return s.divFloor(self, other, stored);
  return s.div(self, other);
}

static Value floorDivide(Scalar s, const Elements &x) {
  return s.divFloor(x["self"], x["other"], storedDType(x.op));
}

/// A literal exponent that a few multiplications or a root compute, as eager
/// does them; any other goes through pow.
static Value power(Scalar s, const Elements &x) {
  DType stored = x.op.result().dtype;
  Value base = x.at(0), exponent = x.at(1);
  if (!x.op.arguments[1].value.isLiteral())
    return s.pow(base, exponent);
  double p = x.op.arguments[1].value.asReal();
  // bf16 is squared in bf16, f16 in f32.
  auto square = [&] {
    Value y = s.square(base);
    return stored == DType::BF16 ? s.rounded(y, stored) : y;
  };
  if (p == 1)
    return base;
  if (p == 2)
    return s.square(base);
  if (p == 3)
    return s.mul(square(), base);
  if (!isFloat(base.dtype()))
    return s.pow(base, exponent);
  // The power of -0.0 or -inf has another sign than the root, which eager
  // does not take of f16.
  if (p == 0.5 && stored != DType::F16)
    return s.sqrt(base);
  if (p == -0.5 && stored != DType::F16)
    return s.rsqrt(base);
  if (p == -1)
    return s.reciprocal(base);
  if (p == -2)
    return s.reciprocal(square());
  // Eager's exponent is a double; f32 does not know of this one if it is odd.
  if (stored == DType::F32 && std::abs(p) > 0x1p24 && double(float(p)) != p)
    return s.cast(s.pow(s.cast(base, DType::F64), exponent), stored);
  return s.pow(base, exponent);
}

/// Integers only with a literal exponent that is not negative.
static bool hasPower(const OpCall &op) {
  Value exponent = op.arguments[1].value;
  return isFloat(op.result().dtype) ||
         (exponent.isLiteral() && exponent.asReal() >= 0);
}

/// NaN in x stays; a bound that is None does not bound.
static Value clamp(Scalar s, Value x, Value low, Value high) {
  if (low)
    x = s.max(x, low);
  return high ? s.min(x, high) : x;
}

/// x, or the number where x is beyond it. As in ATen's kernels x stays where
/// the two are equal, as zeros of either sign are; a bound of NaN is the
/// result.
static Value bounded(Scalar s, Value x, Value number,
                     Value (Scalar::*isBeyond)(Value, Value)) {
  Value inside = s.select((s.*isBeyond)(x, number), number, x);
  return number.isLiteral() ? inside
                            : s.select(s.isNan(number), number, inside);
}

static Value clampToNumbers(Scalar s, Value x, Value low, Value high) {
  if (low)
    x = bounded(s, x, low, &Scalar::lt);
  return high ? bounded(s, x, high, &Scalar::gt) : x;
}

/// The larger (isBetter: gt) or smaller; the other where one is NaN. Of equals
/// such as two zeros it is the first, but for bfloat16, as in eager.
template <Value (Scalar::*isBetter)(Value, Value)>
static Value betterNumber(Scalar s, const Elements &e) {
  Value x = e["self"], y = e["other"];
  if (e.op.result().dtype == DType::BF16)
    std::swap(x, y);
  return s.select(s.logicalOr((s.*isBetter)(y, x), s.isNan(x)), y, x);
}

static Value logAddExp(Scalar s, Value x, Value y) {
  Value larger = s.max(x, y);
  Value sum = s.add(larger, s.log1p(s.exp(s.neg(s.abs(s.sub(x, y))))));
  // inf - inf would be NaN where the answer is that infinity.
  return s.select(s.logicalAnd(s.isInf(x), s.eq(x, y)), x, sum);
}

/// x * log(y), 0 where x is 0 unless y is NaN.
template <Value (Scalar::*log)(Value)>
static Value timesLog(Scalar s, const Elements &e) {
  Value x = e["self"], y = e["other"];
  Value product = s.mul(x, s.rounded((s.*log)(y), e.op.result().dtype));
  return s.select(s.isNan(y), y, s.select(s.eq(x, 0), 0, product));
}

/// x * 2^y, the power rounded as the tensor of powers that eager makes. It
/// makes none of integers for a float, and a product may fit where its power
/// does not.
static Value ldexp(Scalar s, const Elements &e) {
  DType stored = e.op.arguments[1].value.dtype();
  if (isFloat(e.op.arguments[0].value.dtype()) && !isFloat(stored)) {
    // No float is zero, or infinite, only after 400 doublings.
    Value exponent = clamp(s, s.cast(e["other"], DType::F64), -400, 400);
    Value x = s.cast(e["self"], DType::F64);
    return s.cast(s.mul(x, s.exp2(exponent)), DType::F32);
  }
  Value power = s.rounded(s.exp2(e["other"]), stored);
  if (stored == DType::F32)
    power = s.cast(power, stored);
  return s.mul(e["self"], power);
}

/// The default dtype, which eager gives powers of integers, is not known here.
static bool hasPowerOfTwo(const OpCall &op) {
  return op.result().dtype != DType::F64 ||
         isFloat(op.arguments[1].value.dtype());
}

static Value entropy(Scalar s, const Elements &e) {
  Value x = e["self"], log = s.rounded(s.log(x), e.op.result().dtype);
  Value positive = s.neg(s.mul(x, log));
  Value edge = s.select(s.lt(x, 0), -HUGE_VAL, s.number(0, x.dtype()));
  return s.select(s.logicalOr(s.gt(x, 0), s.isNan(x)), positive, edge);
}

/// log(x / (1 - x)), of x kept within [eps, 1 - eps] if there is an eps.
static Value logit(Scalar s, const Elements &e) {
  Value x = e["self"], eps = e["eps"];
  auto kept = [&](Value v) { return s.rounded(v, e.op.result().dtype); };
  if (eps)
    x = clamp(s, x, kept(eps), kept(s.sub(1.0, kept(eps))));
  return s.log(kept(s.div(x, kept(s.sub(1.0, x)))));
}

static Value nanToNum(Scalar s, const Elements &x) {
  Value self = x["self"];
  if (!isFloat(self.dtype()))
    return self;
  // The largest finite number of the stored type, not of the wider arithmetic.
  double largest = 0;
  switch (x.op.result().dtype) {
  case DType::F16:
    largest = 65504;
    break;
  case DType::BF16:
    largest = 3.3895313892515355e38;
    break;
  case DType::F32:
    largest = 3.4028234663852886e38;
    break;
  default:
    largest = 1.7976931348623157e308;
    break;
  }
  Value nan = x["nan"] ? x["nan"] : Value(0.0);
  Value high = x["posinf"] ? x["posinf"] : Value(largest);
  Value low = x["neginf"] ? x["neginf"] : Value(-largest);
  // Cast first: of two literals alone a choice is single.
  DType dtype = self.dtype();
  Value infinite =
      s.select(s.gt(self, 0.0), s.cast(high, dtype), s.cast(low, dtype));
  return s.select(s.isNan(self), nan, s.select(s.isInf(self), infinite, self));
}

static Value roundDecimals(Scalar s, const Elements &x) {
  double ten = std::pow(10.0, std::abs(double(x.op.integer("decimals"))));
  if (x.op.integer("decimals") < 0)
    return s.mul(s.round(s.div(x["self"], ten)), ten);
  return s.div(s.round(s.mul(x["self"], ten)), ten);
}

static void addArithmetic(OpTable &t) {
  t.pointwise(
      {"aten::add.Tensor", "aten::add.Scalar"},
      [](Scalar s, const Elements &e) {
        return addScaled(s, e, e.at(0), e.at(1), 1);
      },
      Operands::AsStored);
  t.pointwise(
      {"aten::sub.Tensor", "aten::sub.Scalar"},
      [](Scalar s, const Elements &e) {
        return addScaled(s, e, e.at(0), e.at(1), -1);
      },
      Operands::AsStored);
  t.pointwise(
      {"aten::rsub.Tensor", "aten::rsub.Scalar"},
      [](Scalar s, const Elements &e) {
        return addScaled(s, e, e.at(1), e.at(0), -1);
      },
      Operands::AsStored);
  t.pointwise(
      {"aten::mul.Tensor", "aten::mul.Scalar"},
      [](Scalar s, Value x, Value y) { return s.mul(x, y); },
      Operands::FirstAsStored);
  t.pointwise(
      {"aten::div.Tensor", "aten::div.Scalar"},
      [](Scalar s, Value x, Value y) { return s.div(x, y); },
      Operands::FirstAsStored);
  t.pointwise({"aten::div.Tensor_mode", "aten::div.Scalar_mode"}, divMode,
              Operands::FirstAsStored);
  t.pointwise({"aten::floor_divide", "aten::floor_divide.Scalar"}, floorDivide,
              Operands::FirstAsStored);
  t.pointwise(
      {"aten::remainder.Tensor", "aten::remainder.Scalar",
       "aten::remainder.Scalar_Tensor"},
      [](Scalar s, Value x, Value y) { return s.remainder(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::fmod.Tensor", "aten::fmod.Scalar"},
      [](Scalar s, Value x, Value y) { return s.fmod(x, y); },
      Operands::AsStored);
  t.pointwise({"aten::pow.Tensor_Tensor", "aten::pow.Tensor_Scalar",
               "aten::pow.Scalar"},
              power, Operands::AsStored)
      .when(hasPower);
}

static void addBoundsAndBlends(OpTable &t) {
  t.pointwise({"aten::maximum", "aten::max.other"},
              [](Scalar s, Value x, Value y) { return s.max(x, y); });
  t.pointwise({"aten::minimum", "aten::min.other"},
              [](Scalar s, Value x, Value y) { return s.min(x, y); });
  t.pointwise("aten::fmax", betterNumber<&Scalar::gt>);
  t.pointwise("aten::fmin", betterNumber<&Scalar::lt>);
  t.pointwise({"aten::copysign.Tensor", "aten::copysign.Scalar"},
              [](Scalar s, Value x, Value y) { return s.copysign(x, y); });
  t.pointwise("aten::addcmul",
              [](Scalar s, Value x, Value a, Value b, Value scale) {
                return s.mulAdd(scale ? s.mul(scale, a) : a, b, x);
              });
  t.pointwise("aten::addcdiv",
              [](Scalar s, Value x, Value a, Value b, Value scale) {
                Value scaled = scale ? s.mul(scale, a) : a;
                return s.add(x, s.div(scaled, b));
              });
  t.pointwise({"aten::lerp.Scalar", "aten::lerp.Tensor"},
              [](Scalar s, Value from, Value to, Value weight) {
                return s.lerp(from, to, weight);
              });
  t.pointwise({"aten::clamp", "aten::hardtanh"}, clampToNumbers);
  t.pointwise("aten::clamp.Tensor", clamp);
  t.pointwise("aten::clamp_min", [](Scalar s, Value x, Value low) {
    return bounded(s, x, low, &Scalar::lt);
  });
  t.pointwise("aten::clamp_max", [](Scalar s, Value x, Value high) {
    return bounded(s, x, high, &Scalar::gt);
  });
  t.pointwise("aten::clamp_min.Tensor",
              [](Scalar s, Value x, Value low) { return s.max(x, low); });
  t.pointwise("aten::clamp_max.Tensor",
              [](Scalar s, Value x, Value high) { return s.min(x, high); });
}

static void addUnary(OpTable &t) {
  auto row = [&t](RowNames names, Value (Scalar::*f)(Value)) {
    t.pointwise(names, [f](Scalar s, Value x) { return (s.*f)(x); });
  };
  row("aten::neg", &Scalar::neg);
  row("aten::abs", &Scalar::abs);
  row({"aten::sign", "aten::sgn"}, &Scalar::sign);
  row("aten::reciprocal", &Scalar::reciprocal);
  row("aten::floor", &Scalar::floor);
  row("aten::ceil", &Scalar::ceil);
  row("aten::trunc", &Scalar::trunc);
  row("aten::round", &Scalar::round);
  row("aten::sqrt", &Scalar::sqrt);
  row("aten::rsqrt", &Scalar::rsqrt);
  row("aten::exp", &Scalar::exp);
  row("aten::exp2", &Scalar::exp2);
  row("aten::expm1", &Scalar::expm1);
  row("aten::log", &Scalar::log);
  row("aten::log2", &Scalar::log2);
  row("aten::log10", &Scalar::log10);
  row("aten::log1p", &Scalar::log1p);
  row("aten::sin", &Scalar::sin);
  row("aten::cos", &Scalar::cos);
  row("aten::tan", &Scalar::tan);
  row("aten::asin", &Scalar::asin);
  row("aten::acos", &Scalar::acos);
  row("aten::atan", &Scalar::atan);
  row("aten::sinh", &Scalar::sinh);
  row("aten::cosh", &Scalar::cosh);
  row("aten::tanh", &Scalar::tanh);
  row("aten::asinh", &Scalar::asinh);
  row("aten::acosh", &Scalar::acosh);
  row("aten::atanh", &Scalar::atanh);
  row({"aten::erf", "aten::special_erf"}, &Scalar::erf);
  row({"aten::erfc", "aten::special_erfc"}, &Scalar::erfc);
  row("aten::sigmoid", &Scalar::sigmoid);
  t.pointwise("aten::frac",
              [](Scalar s, Value x) { return s.sub(x, s.trunc(x)); });
  t.pointwise("aten::atan2",
              [](Scalar s, Value y, Value x) { return s.atan2(y, x); });
  t.pointwise("aten::deg2rad",
              [](Scalar s, Value x) { return s.mul(x, M_PI / 180); });
  t.pointwise("aten::rad2deg",
              [](Scalar s, Value x) { return s.mul(x, 180 / M_PI); });
}

static void addSpecial(OpTable &t) {
  t.pointwise("aten::round.decimals", roundDecimals);
  t.pointwise("aten::nan_to_num", nanToNum);
  t.pointwise("aten::logaddexp", logAddExp);
  t.pointwise("aten::hypot", [](Scalar s, Value x, Value y) {
    // Scaled, so that squares do not overflow.
    Value a = s.abs(x), b = s.abs(y);
    Value larger = s.max(a, b), ratio = s.div(s.min(a, b), larger);
    Value length = s.mul(larger, s.sqrt(s.add(1.0, s.square(ratio))));
    // An infinity is far away in whatever direction, NaN too.
    Value infinite = s.logicalOr(s.isInf(a), s.isInf(b));
    return s.select(infinite, s.fmax(a, b),
                    s.select(s.eq(larger, 0.0), larger, length));
  });
  t.pointwise({"aten::xlogy.Tensor", "aten::xlogy.Scalar_Self",
               "aten::xlogy.Scalar_Other"},
              timesLog<&Scalar::log>, Operands::AsStored);
  t.pointwise({"aten::special_xlog1py", "aten::special_xlog1py.self_scalar",
               "aten::special_xlog1py.other_scalar"},
              timesLog<&Scalar::log1p>, Operands::AsStored);
  t.pointwise("aten::special_entr", entropy);
  t.pointwise("aten::ldexp.Tensor", ldexp).when(hasPowerOfTwo);
  t.pointwise("aten::logit", logit);
  t.pointwise("aten::heaviside", [](Scalar s, Value x, Value atZero) {
    return s.select(s.eq(x, 0), atZero, s.cast(s.gt(x, 0), x.dtype()));
  });
  t.pointwise("aten::sinc", [](Scalar s, Value x) {
    Value angle = s.mul(x, M_PI);
    return s.select(s.eq(x, 0.0), 1.0, s.div(s.sin(angle), angle));
  });
}

void addPointwiseOps(OpTable &t) {
  addArithmetic(t);
  addBoundsAndBlends(t);
  addUnary(t);
  addSpecial(t);
  // A cast to the recorded dtype is all that is left of these.
  t.pointwise({"aten::_to_copy", "aten::clone", "aten::lift_fresh_copy",
               "aten::positive"},
              [](Scalar, Value x) { return x; });
}

} // namespace ltc::compiler
