//===- real_arithmetic.h - What approximations are written in ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace ltc::compiler {

/// Arithmetic on f32 or f64, on scalars or vectors of one shape, and on
/// integers as wide as they are. A product and the sum it goes into are rounded
/// once where the machine can; between two ATen ops, and apart(), that is never
/// done.
class Real {
public:
  using Value = mlir::Value;

  Real(mlir::ImplicitLocOpBuilder &b, mlir::Type type) : b(b), type(type) {}
  /// The same shape in f64, in f32.
  Real doubles() const { return {b, with(b.getF64Type())}; }
  Real singles() const { return {b, with(b.getF32Type())}; }
  /// The same with each product and sum rounded by itself.
  Real apart() const {
    Real same = *this;
    same.contracts = false;
    return same;
  }

  bool isDouble() const { return mlir::getElementTypeOrSelf(type).isF64(); }

  Value constant(double value);
  Value integer(int64_t value);

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z); ///< x y + z, always rounded once
  Value sqrt(Value x);
  Value abs(Value x);
  Value negate(Value x);
  Value truncate(Value x); ///< towards zero
  Value nearest(Value x);  ///< ties to even
  Value withSign(Value x, Value sign);
  /// coefficients[0] + coefficients[1] x + ...
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  Value less(Value x, Value y);
  Value less(Value x, double y) { return less(x, constant(y)); }
  Value greater(Value x, Value y) { return less(y, x); }
  Value greater(Value x, double y) { return less(constant(y), x); }
  Value equal(Value x, Value y);
  Value equal(Value x, double y) { return equal(x, constant(y)); }
  Value isNaN(Value x);
  Value select(Value condition, Value x, Value y);
  Value both(Value x, Value y); ///< of conditions or integers
  Value either(Value x, Value y);
  /// Whether a condition holds in any lane, as one scalar.
  Value any(Value condition);

  Value bits(Value x);
  Value fromBits(Value x);
  Value addInt(Value x, Value y);
  Value subInt(Value x, Value y);
  Value mulInt(Value x, Value y);
  Value shiftLeft(Value x, Value by);
  Value shiftLeft(Value x, int64_t by) { return shiftLeft(x, integer(by)); }
  Value shiftRight(Value x, int64_t by); ///< keeps the sign
  Value shiftDown(Value x, int64_t by);  ///< fills with zeros
  Value equalInt(Value x, int64_t y);
  Value toFloat(Value x);
  Value powerOfTwo(Value n); ///< a normal number
  /// x 2^n, rounded once. |x| is between 1/2 and 2, or x a NaN, and half of n
  /// a normal number's exponent.
  Value scale(Value x, Value n);

  /// To this precision, or this width, from the other.
  Value convert(Value x);
  Value convertInt(Value x);

  mlir::ImplicitLocOpBuilder &builder() { return b; }

  /// `result`, but the C library's `Op` of the operands where a condition that
  /// holds in few lanes does.
  template <typename Op>
  Value exactWhere(Value isHard, Value result, mlir::ValueRange operands);

private:
  mlir::Type with(mlir::Type element) const;
  mlir::Type integers() const;
  Value splat(mlir::Type of, mlir::TypedAttr value);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  bool contracts = true;
};

/// e^x 2^shift, rounded once.
mlir::Value approximateExp(Real &f, mlir::Value x, int64_t shift = 0);

/// By a function that gives e^r where that is a normal number.
mlir::Value approximateErf(Real &f, mlir::Value x,
                           llvm::function_ref<mlir::Value(mlir::Value)> exp);

/// x^y, given |x|^y.
mlir::Value finishPower(Real &f, mlir::Value x, mlir::Value y,
                        mlir::Value result);

/// Makes of each scale() two products, for machines without an instruction.
void takeScalesApart(mlir::ModuleOp module);

void addLogarithms(mlir::RewritePatternSet &patterns);
void addTrigonometry(mlir::RewritePatternSet &patterns);
void addInverseTrigonometry(mlir::RewritePatternSet &patterns);
void addPowers(mlir::RewritePatternSet &patterns);
/// sin, cos and tan; pow, exp2 and remainders, in f64.
void addTrigonometryF64(mlir::RewritePatternSet &patterns);
void addPowersF64(mlir::RewritePatternSet &patterns);

/// Bits of the square root of 1/2 in f64.
inline constexpr int64_t kRootHalf = 0x3FE6A09E667F3BCD;

/// On an op that stays as it is: the C library's, for rare arguments.
inline constexpr llvm::StringLiteral kExact = "ltc.exact";

template <typename Op>
mlir::Value Real::exactWhere(Value isHard, Value result,
                             mlir::ValueRange operands) {
  auto branch = mlir::scf::IfOp::create(
      b, any(isHard),
      [&](mlir::OpBuilder &nested, mlir::Location loc) {
        auto exact = Op::create(nested, loc, type, operands);
        exact->setAttr(kExact, nested.getUnitAttr());
        mlir::ImplicitLocOpBuilder inner(loc, nested);
        Real g(inner, type);
        mlir::scf::YieldOp::create(inner,
                                   g.select(isHard, exact.getResult(), result));
      },
      [&](mlir::OpBuilder &nested, mlir::Location loc) {
        mlir::scf::YieldOp::create(nested, loc, result);
      });
  return branch.getResult(0);
}

/// Replaces an op, in f32 or the other, by what `function` makes of its
/// operands.
template <typename Op> struct Approximate : mlir::OpRewritePattern<Op> {
  using Function = mlir::Value (*)(Real &, mlir::ValueRange);
  Approximate(mlir::MLIRContext *context, Function function, unsigned bits = 32)
      : mlir::OpRewritePattern<Op>(context), function(function), bits(bits) {}
  mlir::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    mlir::Type type = op->getResult(0).getType();
    mlir::Type element = mlir::getElementTypeOrSelf(type);
    bool wanted = bits == 64 ? element.isF64() : element.isF32();
    if (!wanted || op->hasAttr(kExact))
      return mlir::failure();
    mlir::ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Real f(b, type);
    rewriter.replaceOp(op, function(f, op->getOperands()));
    return mlir::success();
  }
  Function function;
  unsigned bits;
};

} // namespace ltc::compiler
