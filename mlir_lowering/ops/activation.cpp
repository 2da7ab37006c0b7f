//===- activation.cpp - Activations and their gradients ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <cmath>

namespace ltc::compiler {

static Value gelu(Scalar s, const Elements &x) {
  Value self = x["self"];
  if (x.op.text("approximate") == "tanh") {
    Value cubed = s.mul(s.square(self), self);
    Value inner = s.mul(s.add(self, s.mul(cubed, 0.044715)), std::sqrt(2 / M_PI));
    return s.mul(s.mul(self, 0.5), s.add(s.tanh(inner), 1.0));
  }
  return s.mul(s.mul(self, 0.5), s.add(s.erf(s.mul(self, M_SQRT1_2)), 1.0));
}

static Value softmax(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim");
  Value x = e.widen(op["self"]); // sums of bf16 are taken in f32
  Value p = e.exp(e.sub(x, e.reduceMax(x, dim)));
  return e.narrow(e.div(p, e.reduceSum(p, dim)), op.result());
}

void addActivationOps(OpTable &t) {
  t.pointwise("aten::relu", [](Scalar s, Value x) { return s.max(x, 0); });
  t.pointwise("aten::silu", [](Scalar s, Value x) { return s.mul(x, s.sigmoid(x)); });
  t.pointwise("aten::threshold_backward",
              [](Scalar s, Value grad, Value x, Value threshold) {
                return s.select(s.le(x, threshold), 0, grad);
              });
  t.pointwise("aten::gelu", gelu);
  t.structured("aten::_softmax", softmax);
}

} // namespace ltc::compiler
