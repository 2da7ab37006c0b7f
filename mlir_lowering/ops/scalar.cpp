//===- scalar.cpp - Arithmetic, comparisons, bits ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

namespace ltc::compiler {

using namespace mlir::arith;

/// Emits the form of a binary operation that suits the dtype.
template <typename FloatOp, typename SignedOp, typename UnsignedOp>
static Value binary(mlir::ImplicitLocOpBuilder &b, DType dtype, Value x,
                    Value y) {
  if (isFloat(dtype))
    return {FloatOp::create(b, x.ir(), y.ir()), dtype};
  if (isUnsigned(dtype))
    return {UnsignedOp::create(b, x.ir(), y.ir()), dtype};
  return {SignedOp::create(b, x.ir(), y.ir()), dtype};
}

Value Scalar::add(Value x, Value y) {
  DType dtype = unify(x, y);
  if (dtype == DType::Bool)
    return bitOr(x, y);
  return binary<AddFOp, AddIOp, AddIOp>(b, dtype, x, y);
}
Value Scalar::sub(Value x, Value y) {
  DType dtype = unify(x, y);
  if (dtype == DType::Bool)
    return bitXor(x, y);
  return binary<SubFOp, SubIOp, SubIOp>(b, dtype, x, y);
}
Value Scalar::mul(Value x, Value y) {
  DType dtype = unify(x, y);
  if (dtype == DType::Bool)
    return bitAnd(x, y);
  return binary<MulFOp, MulIOp, MulIOp>(b, dtype, x, y);
}
Value Scalar::mulAdd(Value x, Value y, Value z) {
  DType dtype = promote({x, y, z});
  x = cast(x, dtype), y = cast(y, dtype), z = cast(z, dtype);
  if (!isFloat(dtype))
    return add(mul(x, y), z);
  // Only what says so is contracted: two ATen ops never are.
  auto contract = FastMathFlags::contract;
  mlir::Value product = MulFOp::create(b, x.ir(), y.ir(), contract);
  return {AddFOp::create(b, product, z.ir(), contract), dtype};
}
Value Scalar::lerp(Value from, Value to, Value weight) {
  Value distance = sub(to, from);
  return select(lt(abs(weight), 0.5), add(from, mul(weight, distance)),
                sub(to, mul(distance, sub(1, weight))));
}
Value Scalar::div(Value x, Value y) {
  DType dtype = unify(x, y);
  if (!isFloat(dtype))
    return div(toFloat(x), toFloat(y));
  return {DivFOp::create(b, x.ir(), y.ir()), dtype};
}

/// A divisor that neither traps nor overflows: 1 in place of 0, which is an
/// error, and of -1.
Value Scalar::guardedDivisor(Value y) {
  auto constant = y.ir().getDefiningOp<ConstantIntOp>();
  if (!constant || constant.value() == 0)
    y = {CheckDivisorOp::create(b, y.ir().getType(), y.ir(), site), y.dtype()};
  if (isUnsigned(y.dtype()))
    return y;
  return select(eq(y, -1), number(1, y.dtype()), y);
}

Value Scalar::divTrunc(Value x, Value y) {
  DType dtype = unify(x, y);
  if (isFloat(dtype))
    return trunc(div(x, y));
  Value quotient =
      binary<DivFOp, DivSIOp, DivUIOp>(b, dtype, x, guardedDivisor(y));
  return isUnsigned(dtype) ? quotient : select(eq(y, -1), neg(x), quotient);
}

Value Scalar::divFloor(Value x, Value y, DType stored) {
  DType dtype = unify(x, y);
  if (isUnsigned(dtype))
    return divTrunc(x, y);
  Value toZero = isFloat(dtype) ? Value() : divTrunc(x, y);
  Value rest = isFloat(dtype) ? fmod(x, y) : sub(x, mul(toZero, y));
  Value crosses = logicalAnd(ne(rest, 0), ne(lt(y, 0), lt(rest, 0)));
  if (!isFloat(dtype))
    return select(crosses, sub(toZero, 1), toZero);
  // As c10::div_floor_floating: exact where x is a multiple of y.
  auto kept = [&](Value v) { return rounded(v, stored); };
  Value plain = div(x, y), quotient = kept(div(kept(sub(x, rest)), y));
  quotient = select(crosses, kept(sub(quotient, 1.0)), quotient);
  Value down = floor(quotient);
  down = select(gt(sub(quotient, down), 0.5), kept(add(down, 1.0)), down);
  Value whole = select(ne(quotient, 0.0), down, copysign(0.0, plain));
  return select(eq(y, 0.0), plain, whole);
}

Value Scalar::fmod(Value x, Value y) {
  DType dtype = unify(x, y);
  if (isFloat(dtype))
    return {RemFOp::create(b, x.ir(), y.ir()), dtype};
  return binary<RemFOp, RemSIOp, RemUIOp>(b, dtype, x, guardedDivisor(y));
}

Value Scalar::remainder(Value x, Value y) {
  DType dtype = unify(x, y);
  Value rest = fmod(x, y);
  if (isUnsigned(dtype))
    return rest;
  Value crosses = logicalAnd(ne(rest, 0), ne(lt(y, 0), lt(rest, 0)));
  return select(crosses, add(rest, y), rest);
}

Value Scalar::pow(Value x, Value y) {
  Value exponent = y;
  DType dtype = unify(x, y);
  if (isFloat(dtype))
    return {mlir::math::PowFOp::create(b, x.ir(), y.ir()), dtype};
  assert(exponent.isLiteral() && "an integer power needs a literal exponent");
  Value result = number(1, dtype);
  for (int64_t bits = exponent.asInteger(); bits > 0; bits >>= 1) {
    if (bits & 1)
      result = mul(result, x);
    x = square(x);
  }
  return result;
}

Value Scalar::neg(Value x) {
  if (!x.isReal() && x.isLiteral() && isSymbolic(x.asInteger()))
    x = number(x, DType::I64);
  if (x.isLiteral())
    return x.isReal() ? Value(-x.asReal()) : Value(-x.asInteger());
  if (isFloat(x.dtype()))
    return {NegFOp::create(b, x.ir()), x.dtype()};
  return sub(number(0, x.dtype()), x);
}
Value Scalar::abs(Value x) {
  if (isFloat(x.dtype()))
    return {mlir::math::AbsFOp::create(b, x.ir()), x.dtype()};
  if (isUnsigned(x.dtype()))
    return x;
  return {mlir::math::AbsIOp::create(b, x.ir()), x.dtype()};
}
Value Scalar::sign(Value x) {
  if (x.dtype() == DType::Bool)
    return x;
  Value positive = cast(gt(x, 0), x.dtype());
  return isUnsigned(x.dtype()) ? positive
                               : sub(positive, cast(lt(x, 0), x.dtype()));
}

Value Scalar::max(Value x, Value y) {
  DType dtype = unify(x, y);
  return binary<MaximumFOp, MaxSIOp, MaxUIOp>(b, dtype, x, y);
}
Value Scalar::min(Value x, Value y) {
  DType dtype = unify(x, y);
  return binary<MinimumFOp, MinSIOp, MinUIOp>(b, dtype, x, y);
}
Value Scalar::fmax(Value x, Value y) {
  DType dtype = unify(x, y);
  return binary<MaxNumFOp, MaxSIOp, MaxUIOp>(b, dtype, x, y);
}
Value Scalar::fmin(Value x, Value y) {
  DType dtype = unify(x, y);
  return binary<MinNumFOp, MinSIOp, MinUIOp>(b, dtype, x, y);
}

static Value compare(mlir::ImplicitLocOpBuilder &b, DType dtype, Value x,
                     Value y, CmpFPredicate real, CmpIPredicate signedInt,
                     CmpIPredicate unsignedInt) {
  if (isFloat(dtype))
    return {CmpFOp::create(b, real, x.ir(), y.ir()), DType::Bool};
  auto predicate = isUnsigned(dtype) ? unsignedInt : signedInt;
  return {CmpIOp::create(b, predicate, x.ir(), y.ir()), DType::Bool};
}

#define LTC_COMPARE(method, real, signedInt, unsignedInt)                      \
  Value Scalar::method(Value x, Value y) {                                     \
    DType dtype = unify(x, y);                                                 \
    return compare(b, dtype, x, y, CmpFPredicate::real,                        \
                   CmpIPredicate::signedInt, CmpIPredicate::unsignedInt);      \
  }
LTC_COMPARE(eq, OEQ, eq, eq)
LTC_COMPARE(ne, UNE, ne, ne)
LTC_COMPARE(lt, OLT, slt, ult)
LTC_COMPARE(le, OLE, sle, ule)
LTC_COMPARE(gt, OGT, sgt, ugt)
LTC_COMPARE(ge, OGE, sge, uge)
#undef LTC_COMPARE

Value Scalar::logicalAnd(Value x, Value y) {
  return {AndIOp::create(b, toBool(x).ir(), toBool(y).ir()), DType::Bool};
}
Value Scalar::logicalOr(Value x, Value y) {
  return {OrIOp::create(b, toBool(x).ir(), toBool(y).ir()), DType::Bool};
}
Value Scalar::logicalXor(Value x, Value y) {
  return {XOrIOp::create(b, toBool(x).ir(), toBool(y).ir()), DType::Bool};
}
Value Scalar::logicalNot(Value x) {
  return logicalXor(x, number(true, DType::Bool));
}
Value Scalar::select(Value condition, Value x, Value y) {
  DType dtype = unify(x, y);
  return {SelectOp::create(b, toBool(condition).ir(), x.ir(), y.ir()), dtype};
}

Value Scalar::bitAnd(Value x, Value y) {
  DType dtype = unify(x, y);
  return {AndIOp::create(b, x.ir(), y.ir()), dtype};
}
Value Scalar::bitOr(Value x, Value y) {
  DType dtype = unify(x, y);
  return {OrIOp::create(b, x.ir(), y.ir()), dtype};
}
Value Scalar::bitXor(Value x, Value y) {
  DType dtype = unify(x, y);
  return {XOrIOp::create(b, x.ir(), y.ir()), dtype};
}
Value Scalar::bitNot(Value x) {
  return bitXor(x, x.dtype() == DType::Bool ? Value(true) : Value(-1));
}
/// Whether a shift by y moves fewer bits than there are; absent if it surely
/// does. Others, negative too, MLIR leaves to chance, and eager moves all out.
static Value isShort(mlir::ImplicitLocOpBuilder &b, Value y) {
  mlir::Type type = y.ir().getType();
  unsigned width = type.getIntOrFloatBitWidth();
  auto known = y.ir().getDefiningOp<ConstantIntOp>();
  if (known && uint64_t(known.value()) < width)
    return {};
  mlir::Value bound = ConstantOp::create(b, b.getIntegerAttr(type, width));
  return {CmpIOp::create(b, CmpIPredicate::ult, y.ir(), bound), DType::Bool};
}
Value Scalar::shiftLeft(Value x, Value y) {
  DType dtype = unify(x, y);
  Value shifted = {ShLIOp::create(b, x.ir(), y.ir()), dtype};
  Value fits = isShort(b, y);
  return fits ? select(fits, shifted, number(0, dtype)) : shifted;
}
Value Scalar::shiftRight(Value x, Value y) {
  DType dtype = unify(x, y);
  Value fits = isShort(b, y);
  if (isUnsigned(dtype)) {
    Value shifted = {ShRUIOp::create(b, x.ir(), y.ir()), dtype};
    return fits ? select(fits, shifted, number(0, dtype)) : shifted;
  }
  // The sign stays.
  int64_t most = x.ir().getType().getIntOrFloatBitWidth() - 1;
  if (fits)
    y = select(fits, y, number(most, dtype));
  return {ShRSIOp::create(b, x.ir(), y.ir()), dtype};
}
Value Scalar::bitcast(Value x, DType dtype) {
  return {BitcastOp::create(b, elementType(b.getContext(), dtype), x.ir()),
          dtype};
}

} // namespace ltc::compiler
