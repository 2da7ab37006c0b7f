//===- reduce.cpp - Sums, means, extremes -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value sum(Emit &e, const OpCall &op) {
  // The result's dtype may be wider than the input's: sum(x, dtype=float64).
  Value x = e.cast(op["self"], sumDType(op.result().dtype));
  return e.narrow(e.reduceSum(x, op.dims("dim"), op.flag("keepdim")),
                  op.result());
}

static Values maxDim(Emit &e, const OpCall &op) {
  auto best = e.reduceArgMax(op["self"], op.dim("dim"), op.flag("keepdim"));
  return {e.narrow(best.value, op.result(0)), best.index};
}

void addReduceOps(OpTable &t) {
  t.structured({"aten::sum", "aten::sum.dim_IntList"}, sum);
  t.structured("aten::max.dim", maxDim)
      .when([](const OpCall &op) { return op["self"].rank() > 0; });
}

} // namespace ltc::compiler
