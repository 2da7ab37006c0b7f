//===- normalize.cpp - Layer, batch and group norm --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Values layerNorm(Emit &e, const OpCall &op) {
  Value x = e.widen(op["input"]);
  int64_t normalized = op.integers("normalized_shape").size();
  auto dims = llvm::to_vector(
      llvm::seq<int64_t>(x.rank() - normalized, x.rank()));
  Value mean = e.reduceMean(x, dims);
  Value centered = e.sub(x, mean);
  Value variance = e.reduceMean(e.square(centered), dims);
  Value rstd = e.map(variance, [&](Scalar s, Value v) {
    return s.rsqrt(s.add(v, op["eps"]));
  });
  Value y = e.mul(centered, rstd);
  if (op.has("weight"))
    y = e.mul(y, op["weight"]);
  if (op.has("bias"))
    y = e.add(y, op["bias"]);
  return {e.narrow(y, op.result(0)), e.narrow(mean, op.result(1)),
          e.narrow(rstd, op.result(2))};
}

void addNormalizeOps(OpTable &t) {
  t.structured("aten::native_layer_norm", layerNorm);
}

} // namespace ltc::compiler
