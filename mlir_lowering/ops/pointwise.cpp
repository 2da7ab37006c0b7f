//===- pointwise.cpp - Arithmetic, element by element -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// x + alpha * y; alpha is missing in the _foreach_ forms.
static Value addScaled(Scalar s, Value x, Value y, Value alpha) {
  return s.add(x, alpha ? s.mul(y, alpha) : y);
}

static Value subScaled(Scalar s, Value x, Value y, Value alpha) {
  return s.sub(x, alpha ? s.mul(y, alpha) : y);
}

void addPointwiseOps(OpTable &t) {
  t.pointwise({"aten::add.Tensor", "aten::add.Scalar"}, addScaled);
  t.pointwise({"aten::sub.Tensor", "aten::sub.Scalar"}, subScaled);
  t.pointwise({"aten::mul.Tensor", "aten::mul.Scalar"},
              [](Scalar s, Value x, Value y) { return s.mul(x, y); });
  t.pointwise({"aten::div.Tensor", "aten::div.Scalar"},
              [](Scalar s, Value x, Value y) { return s.div(x, y); });
  t.pointwise({"aten::_to_copy", "aten::clone", "aten::lift_fresh_copy"},
              [](Scalar, Value x) { return x; });
}

} // namespace ltc::compiler
