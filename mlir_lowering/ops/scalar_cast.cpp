//===- scalar_cast.cpp - Numbers and conversions ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir_lowering/dialect/element_type.h"

#include <cmath>

namespace ltc::compiler {

using namespace mlir::arith;

Value Scalar::number(Value literal, DType dtype) {
  if (!literal.isReal() && isSymbolic(literal.asInteger())) {
    mlir::Value size =
        mlir::cast<mlir::Value>(sizeValue(b, b.getLoc(), literal.asInteger()));
    return cast({IndexCastOp::create(b, b.getI64Type(), size), DType::I64},
                dtype);
  }
  mlir::Type type = elementType(b.getContext(), dtype);
  mlir::TypedAttr attribute;
  if (isFloat(dtype))
    attribute = b.getFloatAttr(type, literal.asReal());
  else if (dtype == DType::Bool)
    attribute = b.getBoolAttr(literal.asReal() != 0);
  else
    attribute = b.getIntegerAttr(
        type, llvm::APInt(type.getIntOrFloatBitWidth(), literal.asInteger(),
                          /*isSigned=*/true, /*implicitTrunc=*/true));
  return {ConstantOp::create(b, attribute), dtype};
}

/// To signed integers: of what does not fit, as of NaN, the lowest, which x86
/// gives and eager relies on. MLIR's op alone leaves it to chance.
static mlir::Value truncated(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                             unsigned width) {
  // What is exactly the lowest does not pass the test, and is not harmed.
  mlir::Type type = b.getIntegerType(width);
  mlir::Value limit = ConstantOp::create(
      b, b.getFloatAttr(x.getType(), std::ldexp(1.0, int(width) - 1)));
  mlir::Value fits = CmpFOp::create(b, CmpFPredicate::OLT,
                                    mlir::math::AbsFOp::create(b, x), limit);
  mlir::Value lowest = ConstantOp::create(
      b, b.getIntegerAttr(type, llvm::APInt::getSignedMinValue(width)));
  return SelectOp::create(b, fits, FPToSIOp::create(b, type, x), lowest);
}

/// C's conversion as compiled for x86: small types are what a wider one keeps.
static mlir::Value floatToInteger(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                                  mlir::Type type, DType dtype) {
  if (x.getType().getIntOrFloatBitWidth() < 32)
    x = ExtFOp::create(b, b.getF32Type(), x);
  if (dtype == DType::U64) { // its upper half by way of the lower
    mlir::Value half =
        ConstantOp::create(b, b.getFloatAttr(x.getType(), std::ldexp(1.0, 63)));
    mlir::Value top = ConstantOp::create(
        b, b.getIntegerAttr(type, llvm::APInt::getSignMask(64)));
    mlir::Value low = truncated(b, x, 64);
    mlir::Value high = truncated(b, SubFOp::create(b, x, half), 64);
    mlir::Value below = CmpFOp::create(b, CmpFPredicate::OLT, x, half);
    return SelectOp::create(b, below, low, XOrIOp::create(b, high, top));
  }
  unsigned width = type.getIntOrFloatBitWidth(), via = std::max(width, 32u);
  // Bytes of doubles have come by way of int64 in PyTorch ever since.
  if (dtype == DType::U32 || (dtype == DType::U8 && x.getType().isF64()))
    via = 64;
  mlir::Value integer = truncated(b, x, via);
  return via == width ? integer : TruncIOp::create(b, type, integer);
}

Value Scalar::cast(Value x, DType dtype) {
  if (x.isLiteral())
    return number(x, dtype);
  if (x.dtype() == dtype)
    return {x.ir(), dtype};
  mlir::Type type = elementType(b.getContext(), dtype);
  mlir::Value ir = x.ir();
  unsigned from = ir.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (dtype == DType::Bool)
    return ne(x, 0);
  if (isFloat(x.dtype()) && isFloat(dtype)) {
    if (from == to) { // f16 and bf16
      ir = ExtFOp::create(b, b.getF32Type(), ir);
      return {TruncFOp::create(b, type, ir), dtype};
    }
    if (from < to)
      return {ExtFOp::create(b, type, ir), dtype};
    return {TruncFOp::create(b, type, ir), dtype};
  }
  if (isFloat(x.dtype()))
    return {floatToInteger(b, ir, type, dtype), dtype};
  if (isFloat(dtype)) {
    if (isUnsigned(x.dtype()))
      return {UIToFPOp::create(b, type, ir), dtype};
    return {SIToFPOp::create(b, type, ir), dtype};
  }
  if (from == to)
    return {ir, dtype};
  if (from > to)
    return {TruncIOp::create(b, type, ir), dtype};
  if (isUnsigned(x.dtype()))
    return {ExtUIOp::create(b, type, ir), dtype};
  return {ExtSIOp::create(b, type, ir), dtype};
}

Value Scalar::toFloat(Value x) {
  if (!x.isLiteral() && isFloat(x.dtype()))
    return x;
  return cast(x, DType::F32);
}

Value Scalar::rounded(Value x, DType stored) {
  if (computeDType(stored) == stored || (!x.isWeak() && !isFloat(x.dtype())))
    return x;
  return cast(cast(cast(x, DType::F32), stored), DType::F32);
}

DType Scalar::unify(Value &x, Value &y) {
  DType dtype;
  if (x.isWeak() == y.isWeak()) {
    dtype = promote(x.dtype(), y.dtype());
    if (x.isLiteral() && y.isLiteral() && dtype == DType::F64)
      dtype = DType::F32;
  } else {
    Value strong = x.isWeak() ? y : x, weak = x.isWeak() ? x : y;
    dtype = promote({strong, weak});
  }
  x = cast(x, dtype);
  y = cast(y, dtype);
  return dtype;
}

} // namespace ltc::compiler
