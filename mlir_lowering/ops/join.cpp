//===- join.cpp - cat, stack, split, pad ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value cat(Emit &e, const OpCall &op) {
  Values parts;
  for (Value part : op.list("tensors")) {
    // PyTorch skips empty one-dimensional tensors, whatever the others are.
    if (part.rank() == 1 && part.size(0) == 0 && op.result().type.getRank() != 1)
      continue;
    parts.push_back(e.cast(part, op.result().dtype));
  }
  return e.concat(parts, op.dim("dim", 0, parts.front()));
}

static Value constantPad(Emit &e, const OpCall &op) {
  Value x = op["self"];
  llvm::SmallVector<int64_t> low(x.rank()), high(x.rank());
  auto pad = op.integers("pad"); // pairs, from the last dimension on
  for (size_t pair = 0; pair < pad.size() / 2; ++pair) {
    low[x.rank() - 1 - pair] = pad[2 * pair];
    high[x.rank() - 1 - pair] = pad[2 * pair + 1];
  }
  return e.pad(x, low, high, op["value"]);
}

void addJoinOps(OpTable &t) {
  t.structured("aten::cat", cat);
  t.structured("aten::constant_pad_nd", constantPad);
}

} // namespace ltc::compiler
