//===- graph/collection.cpp - The graph of a collection -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

Node numbered(const Node &prototype, const ValueId *operand) {
  Node node = prototype;
  for (Argument &argument : node.arguments) {
    if (auto *value = std::get_if<ValueId>(&argument.value))
      *value = *operand++;
    else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      for (ValueId &value : *list)
        if (value != kNoValue)
          value = *operand++;
  }
  return node;
}

Graph Collection::build(SourceId endedBy) const {
  Graph graph;
  graph.endedBy = endedBy;
  for (const auto &[data, scalarType] : inputs)
    graph.inputs.push_back(data ? ValueType{data->buffer()->type(), false}
                                : ValueType::scalar(scalarType));
  graph.outputs = outputs;
  const ValueId *operand = operands.data();
  for (const OpNode *node : nodes) {
    graph.nodes.push_back(numbered(node->call->prototype, operand));
    graph.nodes.back().source = node->source;
    operand += node->inputs.size();
  }
  return graph;
}

std::vector<DimMark> Collection::marks() const {
  std::vector<DimMark> marks;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].data)
      for (auto [dim, kind] : inputs[i].data->marks)
        marks.push_back({i, dim, kind});
  return marks;
}

} // namespace ltc::backend
