//===- compare.cpp - Comparisons, logic, where ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

void addCompareOps(OpTable &t) {
  t.pointwise({"aten::eq.Tensor", "aten::eq.Scalar"},
              [](Scalar s, Value x, Value y) { return s.eq(x, y); });
  t.pointwise({"aten::lt.Tensor", "aten::lt.Scalar"},
              [](Scalar s, Value x, Value y) { return s.lt(x, y); });
  t.pointwise("aten::where.self", [](Scalar s, Value condition, Value x, Value y) {
    return s.select(condition, x, y);
  });
}

} // namespace ltc::compiler
