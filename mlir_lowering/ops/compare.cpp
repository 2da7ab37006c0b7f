//===- compare.cpp - Comparisons, logic, bits, where ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <limits>

namespace ltc::compiler {

static void addComparisons(OpTable &t) {
  t.pointwise(
      {"aten::eq.Tensor", "aten::eq.Scalar"},
      [](Scalar s, Value x, Value y) { return s.eq(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::ne.Tensor", "aten::ne.Scalar"},
      [](Scalar s, Value x, Value y) { return s.ne(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::lt.Tensor", "aten::lt.Scalar"},
      [](Scalar s, Value x, Value y) { return s.lt(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::le.Tensor", "aten::le.Scalar"},
      [](Scalar s, Value x, Value y) { return s.le(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::gt.Tensor", "aten::gt.Scalar"},
      [](Scalar s, Value x, Value y) { return s.gt(x, y); },
      Operands::AsStored);
  t.pointwise(
      {"aten::ge.Tensor", "aten::ge.Scalar"},
      [](Scalar s, Value x, Value y) { return s.ge(x, y); },
      Operands::AsStored);
  t.pointwise("aten::isnan", [](Scalar s, Value x) { return s.isNan(x); });
  t.pointwise("aten::isinf", [](Scalar s, Value x) { return s.isInf(x); });
  t.pointwise("aten::isfinite",
              [](Scalar s, Value x) { return s.isFinite(x); });
  constexpr double infinity = std::numeric_limits<double>::infinity();
  t.pointwise("aten::isposinf", [](Scalar s, Value x) {
    return s.logicalAnd(s.isInf(x), s.gt(x, 0));
  });
  t.pointwise("aten::isneginf", [](Scalar s, Value x) {
    return s.logicalAnd(s.isInf(x), s.lt(x, 0));
  });
  t.pointwise("aten::signbit", [](Scalar s, Value x) {
    // Of -0.0 and -NaN as well: only the sign is copied.
    return isFloat(x.dtype()) ? s.lt(s.copysign(infinity, x), 0.0) : s.lt(x, 0);
  });
}

static void addLogic(OpTable &t) {
  t.pointwise("aten::logical_and",
              [](Scalar s, Value x, Value y) { return s.logicalAnd(x, y); });
  t.pointwise("aten::logical_or",
              [](Scalar s, Value x, Value y) { return s.logicalOr(x, y); });
  t.pointwise("aten::logical_xor",
              [](Scalar s, Value x, Value y) { return s.logicalXor(x, y); });
  t.pointwise("aten::logical_not",
              [](Scalar s, Value x) { return s.logicalNot(x); });
}

/// Has the kernel refuse the others, in its words.
static bool isOfIntegers(const OpCall &op) {
  return !isFloat(op.result().dtype);
}

static void addBits(OpTable &t) {
  t.pointwise({"aten::bitwise_and.Tensor", "aten::bitwise_and.Scalar",
               "aten::bitwise_and.Scalar_Tensor"},
              [](Scalar s, Value x, Value y) { return s.bitAnd(x, y); })
      .when(isOfIntegers);
  t.pointwise({"aten::bitwise_or.Tensor", "aten::bitwise_or.Scalar",
               "aten::bitwise_or.Scalar_Tensor"},
              [](Scalar s, Value x, Value y) { return s.bitOr(x, y); })
      .when(isOfIntegers);
  t.pointwise({"aten::bitwise_xor.Tensor", "aten::bitwise_xor.Scalar",
               "aten::bitwise_xor.Scalar_Tensor"},
              [](Scalar s, Value x, Value y) { return s.bitXor(x, y); })
      .when(isOfIntegers);
  t.pointwise("aten::bitwise_not", [](Scalar s, Value x) {
     return s.bitNot(x);
   }).when(isOfIntegers);
  t.pointwise({"aten::bitwise_left_shift.Tensor", "aten::__lshift__.Tensor",
               "aten::bitwise_left_shift.Tensor_Scalar",
               "aten::__lshift__.Scalar"},
              [](Scalar s, Value x, Value y) { return s.shiftLeft(x, y); })
      .when(isOfIntegers);
  t.pointwise({"aten::bitwise_right_shift.Tensor", "aten::__rshift__.Tensor",
               "aten::bitwise_right_shift.Tensor_Scalar",
               "aten::__rshift__.Scalar"},
              [](Scalar s, Value x, Value y) { return s.shiftRight(x, y); })
      .when(isOfIntegers);
}

/// A value that does not fit the dtype raises: where there are such, the kernel
/// looks at it.
static bool anyValueFits(const OpCall &op) {
  DType from = op["value"].dtype(), to = op.result().dtype;
  bool isSmall = isFloat(from) || byteSize(from) == 1;
  return promote(from, to) == to && (to != DType::F16 || isSmall);
}

void addCompareOps(OpTable &t) {
  addComparisons(t);
  addLogic(t);
  addBits(t);
  t.pointwise({"aten::where.self", "aten::where.ScalarSelf",
               "aten::where.ScalarOther", "aten::where.Scalar"},
              [](Scalar s, Value condition, Value x, Value y) {
                return s.select(s.toBool(condition), x, y);
              });
  auto fill = [](Scalar s, Value x, Value mask, Value value) {
    return s.select(mask, value, x);
  };
  t.pointwise("aten::masked_fill.Scalar", fill);
  t.pointwise("aten::masked_fill.Tensor", fill).when(anyValueFits);
}

} // namespace ltc::compiler
