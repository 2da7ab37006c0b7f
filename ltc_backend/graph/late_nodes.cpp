//===- graph/late_nodes.cpp - Nodes that wait -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/late_nodes.h"

#include <algorithm>

namespace ltc::backend {

static bool awaits(const OpNode *node) {
  return node->call->op->facts.has(OpFact::Awaits);
}

void placeLate(std::vector<const OpNode *> &nodes) {
  if (std::ranges::none_of(nodes, awaits))
    return;
  std::vector<const OpNode *> placed, late;
  placed.reserve(nodes.size());
  for (const OpNode *node : nodes) {
    if (awaits(node)) {
      late.push_back(node);
      continue;
    }
    for (const Operand &operand : node->inputs) {
      auto read = std::ranges::find(late, operand.node.get());
      if (read == late.end())
        continue;
      placed.push_back(*read);
      late.erase(read);
    }
    placed.push_back(node);
  }
  placed.insert(placed.end(), late.begin(), late.end());
  nodes = std::move(placed);
}

} // namespace ltc::backend
