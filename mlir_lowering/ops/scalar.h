//===- scalar.h - The element vocabulary ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a body does with elements. Each method looks at the dtype and emits the
// float, signed, unsigned or boolean form, with PyTorch's meaning. Operands are
// elements, host scalars or literals; where dtypes differ they are promoted.
// Inside a body f16 and bf16 do not occur (they are f32 there) and bool is i1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/value.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace ltc::compiler {

class Scalar {
public:
  /// `site`: the node that run-time errors name. `loops`: for each dimension
  /// the loop that runs over it, -1 for none; empty for one loop each.
  Scalar(mlir::ImplicitLocOpBuilder &builder, int64_t site,
         llvm::ArrayRef<int64_t> loops = {})
      : b(builder), site(site), loops(loops) {}

  /// A literal as an element of the given dtype.
  Value number(Value literal, DType dtype);
  /// Converts as Tensor.to does: to bool is != 0, float to integer truncates.
  Value cast(Value x, DType dtype);
  /// cast(x, F32) unless x is a float already.
  Value toFloat(Value x);
  /// What memory of that dtype keeps of x: a 16-bit float's rounding, where
  /// eager stores what we keep in F32. Other dtypes keep all.
  Value rounded(Value x, DType stored);

  // Arithmetic. On bool: add is or, mul is and.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// x * y + z, of floats rounded once where the machine can.
  Value mulAdd(Value x, Value y, Value z);
  /// In the form that is exact at both ends, as eager computes it.
  Value lerp(Value from, Value to, Value weight);
  /// True division; integers are divided as floats.
  Value div(Value x, Value y);
  Value divTrunc(Value x, Value y);
  /// Each step of a quotient of 16-bit floats is rounded to what is `stored`.
  Value divFloor(Value x, Value y, DType stored = DType::F64);
  /// Sign of the divisor, as Python's %.
  Value remainder(Value x, Value y);
  /// Sign of the dividend, as C's fmod.
  Value fmod(Value x, Value y);
  /// Of integers only with a literal exponent, not negative.
  Value pow(Value x, Value y);
  Value neg(Value x);
  Value abs(Value x);
  Value sign(Value x);
  Value square(Value x) { return mul(x, x); }
  Value reciprocal(Value x) { return div(1.0, toFloat(x)); }
  /// NaN wins.
  Value max(Value x, Value y);
  Value min(Value x, Value y);
  /// The number wins over NaN.
  Value fmax(Value x, Value y);
  Value fmin(Value x, Value y);
  Value copysign(Value x, Value y);

  // Functions of floats; integers are converted first.
  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x);
  Value log1p(Value x);
  Value sqrt(Value x);
  Value rsqrt(Value x) { return div(1.0, sqrt(x)); }
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value tanh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value atan2(Value y, Value x);
  Value erf(Value x);
  Value erfc(Value x);
  /// 1 / (1 + exp(-x))
  Value sigmoid(Value x);

  // Rounding; integers stay as they are.
  Value floor(Value x);
  Value ceil(Value x);
  Value trunc(Value x);
  /// Halves to even, as torch.round.
  Value round(Value x);

  // Comparisons and logic give Bool.
  Value eq(Value x, Value y);
  Value ne(Value x, Value y);
  Value lt(Value x, Value y);
  Value le(Value x, Value y);
  Value gt(Value x, Value y);
  Value ge(Value x, Value y);
  Value isNan(Value x);
  Value isInf(Value x);
  Value isFinite(Value x);
  /// x != 0; NaN is true.
  Value toBool(Value x) { return cast(x, DType::Bool); }
  Value logicalAnd(Value x, Value y);
  Value logicalOr(Value x, Value y);
  Value logicalXor(Value x, Value y);
  Value logicalNot(Value x);
  Value select(Value condition, Value x, Value y);

  // Bits: integers and bool.
  Value bitAnd(Value x, Value y);
  Value bitOr(Value x, Value y);
  Value bitXor(Value x, Value y);
  Value bitNot(Value x);
  Value shiftLeft(Value x, Value y);
  /// Arithmetic for signed, logical for unsigned.
  Value shiftRight(Value x, Value y);
  /// The same bits as another dtype of that size.
  Value bitcast(Value x, DType dtype);

  // Indices are I64 elements or literals.
  /// The position in dimension `dim` of the loop around this body.
  Value index(int64_t dim);
  /// An index made safe for a dimension of that size; out of range is reported
  /// as an error of this node. wrap: negatives count from the end.
  Value checkIndex(Value index, Value bound, bool wrap = false);
  /// x; that `holds` is false is reported, in these words, as an error of this
  /// node.
  Value checked(Value x, Value holds, llvm::StringRef words);
  /// The element of a tensor at an index for each dimension, which must be in
  /// range; f16 and bf16 come as F32.
  Value load(Value tensor, llvm::ArrayRef<Value> indices);
  /// A size (sizes.h), as of a tensor's dimension: a literal when static.
  Value size(int64_t size);
  Value size(Value tensor, int64_t dim) { return size(tensor.size(dim)); }

  /// Twice 32 random bits (U32): Philox2x32-10 at a counter.
  std::array<Value, 2> philox(Value seed, Value counter);
  /// Uniform F32 in [0, 1) of 24 random bits; F64 of 53.
  Value uniform(Value seed, Value counter, DType dtype);
  /// Two independent ones; those of another counter are others.
  std::array<Value, 2> uniformPair(Value seed, Value counter, DType dtype);

  // Between memory and computation; rows do not need these.
  Value fromMemory(mlir::Value raw, DType dtype);
  mlir::Value toMemory(Value x, DType dtype);
  mlir::Value toIndex(Value x);
  mlir::ImplicitLocOpBuilder &builder() { return b; }

private:
  friend class Emit;
  DType unify(Value &x, Value &y);
  Value asFloat(Value x);
  Value guardedDivisor(Value y);

  mlir::ImplicitLocOpBuilder &b;
  int64_t site;
  llvm::ArrayRef<int64_t> loops;
};

} // namespace ltc::compiler
