//===- pool.cpp - Pooling ---------------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// Output size 1x1: a mean over the two last dimensions.
static Value globalAveragePool(Emit &e, const OpCall &op) {
  Value x = op["self"];
  return e.narrow(e.reduceMean(x, {x.rank() - 2, x.rank() - 1}), op.result());
}

static bool isGlobal(const OpCall &op) {
  return llvm::all_of(op.integers("output_size"),
                      [](int64_t size) { return size == 1; });
}

void addPoolOps(OpTable &t) {
  t.structured("aten::_adaptive_avg_pool2d", globalAveragePool).when(isGlobal);
}

} // namespace ltc::compiler
