//===- real_arithmetic.cpp - What approximations are written in -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/math/real_arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace ltc::compiler {

static constexpr StringLiteral kScale = "llvm.ldexp";

static arith::FastMathFlags flags(bool contracts) {
  return contracts ? arith::FastMathFlags::contract
                   : arith::FastMathFlags::none;
}

mlir::Type Real::with(mlir::Type element) const {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? mlir::Type(vector.clone(element)) : element;
}

mlir::Type Real::integers() const {
  return with(
      b.getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
}

Value Real::splat(mlir::Type of, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(of))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, mlir::Attribute(value)));
  return arith::ConstantOp::create(b, value);
}

Value Real::constant(double value) {
  return splat(type, b.getFloatAttr(getElementTypeOrSelf(type), value));
}
Value Real::integer(int64_t value) {
  return splat(integers(),
               b.getIntegerAttr(getElementTypeOrSelf(integers()), value));
}

Value Real::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y, flags(contracts));
}
Value Real::sub(Value x, Value y) {
  return arith::SubFOp::create(b, x, y, flags(contracts));
}
Value Real::mul(Value x, Value y) {
  return arith::MulFOp::create(b, x, y, flags(contracts));
}
Value Real::div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
Value Real::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}
Value Real::sqrt(Value x) { return math::SqrtOp::create(b, x); }
Value Real::abs(Value x) { return math::AbsFOp::create(b, x); }
Value Real::negate(Value x) { return arith::NegFOp::create(b, x); }
Value Real::truncate(Value x) { return math::TruncOp::create(b, x); }
Value Real::nearest(Value x) { return math::RoundEvenOp::create(b, x); }
Value Real::withSign(Value x, Value sign) {
  return math::CopySignOp::create(b, x, sign);
}
Value Real::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = add(mul(sum, x), constant(coefficient));
  return sum;
}

Value Real::less(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
}
Value Real::equal(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
}
Value Real::isNaN(Value x) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
}
Value Real::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
Value Real::both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
Value Real::either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
Value Real::any(Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  return vector::ReductionOp::create(b, vector::CombiningKind::OR, condition);
}

Value Real::bits(Value x) { return arith::BitcastOp::create(b, integers(), x); }
Value Real::fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
Value Real::addInt(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value Real::subInt(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
Value Real::mulInt(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
Value Real::shiftLeft(Value x, Value by) {
  return arith::ShLIOp::create(b, x, by);
}
Value Real::shiftRight(Value x, int64_t by) {
  return arith::ShRSIOp::create(b, x, integer(by));
}
Value Real::shiftDown(Value x, int64_t by) {
  return arith::ShRUIOp::create(b, x, integer(by));
}
Value Real::equalInt(Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, integer(y));
}
Value Real::toFloat(Value x) { return arith::SIToFPOp::create(b, type, x); }

Value Real::powerOfTwo(Value n) {
  int64_t bias = isDouble() ? 1023 : 127, digits = isDouble() ? 52 : 23;
  return fromBits(shiftLeft(addInt(n, integer(bias)), digits));
}
Value Real::scale(Value x, Value n) {
  if (isDouble())
    n = arith::TruncIOp::create(b, singles().integers(), n);
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(kScale), {x, n})
      .getResult(0);
}

void takeScalesApart(ModuleOp module) {
  module.walk([](LLVM::CallIntrinsicOp call) {
    if (call.getIntrin() != kScale)
      return;
    ImplicitLocOpBuilder b(call.getLoc(), call);
    Value x = call.getArgs()[0], n = call.getArgs()[1];
    if (auto narrow = n.getDefiningOp<arith::TruncIOp>())
      n = narrow.getIn();
    Real f(b, x.getType());
    Value half = f.shiftRight(n, 1);
    Value product =
        f.mul(f.mul(x, f.powerOfTwo(half)), f.powerOfTwo(f.subInt(n, half)));
    call.getResult(0).replaceAllUsesWith(product);
    call.erase();
  });
}

Value Real::convert(Value x) {
  if (isDouble())
    return arith::ExtFOp::create(b, type, x);
  return arith::TruncFOp::create(b, type, x);
}
Value Real::convertInt(Value x) {
  if (isDouble())
    return arith::ExtSIOp::create(b, integers(), x);
  return arith::TruncIOp::create(b, integers(), x);
}

} // namespace ltc::compiler
