//===- graph/number.cpp - Numbers that need no graph ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/number.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static bool isSingle(const Operand &operand) {
  if (!operand.node)
    return true;
  const LtcNode &node = operand.ltc();
  return node.result(operand.index).type.elements() == 1 &&
         (node.isData || !static_cast<const OpNode &>(node).computed.empty());
}

bool isNumber(const OpNode &node) {
  return node.num_outputs() == 1 && node.inputs.size() <= 2 &&
         node.result(0).type.elements() == 1 &&
         std::ranges::all_of(node.inputs, isSingle) &&
         // With alpha, a sum has a third operand.
         node.call->op->facts.has(OpFact::CorrectlyRounded);
}

} // namespace ltc::backend
