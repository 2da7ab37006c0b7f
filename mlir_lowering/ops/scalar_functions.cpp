//===- scalar_functions.cpp - exp, erf, floor, … ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

namespace ltc::compiler {

using namespace mlir;

#define LTC_FUNCTION(method, op)                                               \
  Value Scalar::method(Value x) {                                              \
    x = toFloat(x);                                                            \
    return {op::create(b, x.ir()), x.dtype()};                                 \
  }
LTC_FUNCTION(exp, math::ExpOp)
LTC_FUNCTION(exp2, math::Exp2Op)
LTC_FUNCTION(expm1, math::ExpM1Op)
LTC_FUNCTION(log, math::LogOp)
LTC_FUNCTION(log2, math::Log2Op)
LTC_FUNCTION(log10, math::Log10Op)
LTC_FUNCTION(log1p, math::Log1pOp)
LTC_FUNCTION(sqrt, math::SqrtOp)
LTC_FUNCTION(sin, math::SinOp)
LTC_FUNCTION(cos, math::CosOp)
LTC_FUNCTION(tan, math::TanOp)
LTC_FUNCTION(asin, math::AsinOp)
LTC_FUNCTION(acos, math::AcosOp)
LTC_FUNCTION(atan, math::AtanOp)
LTC_FUNCTION(sinh, math::SinhOp)
LTC_FUNCTION(cosh, math::CoshOp)
LTC_FUNCTION(tanh, math::TanhOp)
LTC_FUNCTION(asinh, math::AsinhOp)
LTC_FUNCTION(acosh, math::AcoshOp)
LTC_FUNCTION(atanh, math::AtanhOp)
LTC_FUNCTION(erf, math::ErfOp)
LTC_FUNCTION(erfc, math::ErfcOp)
#undef LTC_FUNCTION

#define LTC_ROUNDING(method, op)                                               \
  Value Scalar::method(Value x) {                                              \
    if (!isFloat(x.dtype()))                                                   \
      return x;                                                                \
    return {op::create(b, x.ir()), x.dtype()};                                 \
  }
LTC_ROUNDING(floor, math::FloorOp)
LTC_ROUNDING(ceil, math::CeilOp)
LTC_ROUNDING(trunc, math::TruncOp)
LTC_ROUNDING(round, math::RoundEvenOp)
#undef LTC_ROUNDING

Value Scalar::atan2(Value y, Value x) {
  unify(y, x);
  y = toFloat(y), x = toFloat(x);
  return {math::Atan2Op::create(b, y.ir(), x.ir()), x.dtype()};
}

Value Scalar::copysign(Value x, Value y) {
  unify(x, y);
  x = toFloat(x), y = toFloat(y);
  return {math::CopySignOp::create(b, x.ir(), y.ir()), x.dtype()};
}

Value Scalar::sigmoid(Value x) {
  x = toFloat(x);
  return div(1.0, add(1.0, exp(neg(x))));
}

Value Scalar::isNan(Value x) {
  if (!isFloat(x.dtype()))
    return number(false, DType::Bool);
  return {arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x.ir(), x.ir()),
          DType::Bool};
}
Value Scalar::isInf(Value x) {
  if (!isFloat(x.dtype()))
    return number(false, DType::Bool);
  return eq(abs(x), std::numeric_limits<double>::infinity());
}
Value Scalar::isFinite(Value x) {
  if (!isFloat(x.dtype()))
    return number(true, DType::Bool);
  return lt(abs(x), std::numeric_limits<double>::infinity());
}

} // namespace ltc::compiler
