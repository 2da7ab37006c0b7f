//===- loss.cpp - Losses and their gradients --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// `reduction` of a loss, as ATen numbers it.
enum Reduction { None = 0, Mean = 1, Sum = 2 };

static Value reduced(Emit &e, const OpCall &op, Value losses) {
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, losses.rank()));
  switch (op.integer("reduction", Mean)) {
  case Mean:
    losses = e.reduceMean(losses, all, /*keepdim=*/false);
    break;
  case Sum:
    losses = e.reduceSum(losses, all, /*keepdim=*/false);
    break;
  }
  return e.narrow(losses, op.result());
}

static Value mseLoss(Emit &e, const OpCall &op) {
  return reduced(e, op, e.square(e.sub(op["self"], op["target"])));
}

void addLossOps(OpTable &t) { t.structured("aten::mse_loss", mseLoss); }

} // namespace ltc::compiler
