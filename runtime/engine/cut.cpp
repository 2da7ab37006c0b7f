//===- cut.cpp - A graph cut into parts for a device ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/cut.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

/// Calls visit(ValueId &) for each operand, absent ones left out.
void forEachOperand(auto &node, const auto &visit) {
  for (auto &argument : node.arguments) {
    if (auto *one = std::get_if<ValueId>(&argument.value))
      visit(*one);
    if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      for (auto &value : *list)
        if (value != kNoValue)
          visit(value);
  }
}

/// Makes a graph of some nodes: what comes from elsewhere is an input.
class Extract {
public:
  Extract(const Graph &whole, std::span<const ValueType> types)
      : types(types), here(types.size(), kNoValue) {
    made.endedBy = whole.endedBy;
  }

  void add(std::span<const Node *const> nodes,
           std::span<const ValueId> firstResults) {
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t r = 0; r < nodes[i]->results.size(); ++r)
        here[firstResults[i] + r] = kInside;
    for (const Node *node : nodes)
      forEachOperand(*node, [&](ValueId value) {
        if (here[value] != kNoValue)
          return;
        here[value] = ValueId(made.inputs.size());
        made.inputs.push_back(types[value]);
        operands.push_back(value);
      });
    auto next = ValueId(made.inputs.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      Node &node = made.nodes.emplace_back(*nodes[i]);
      forEachOperand(node, [&](ValueId &value) { value = here[value]; });
      for (size_t r = 0; r < node.results.size(); ++r)
        here[firstResults[i] + r] = next++;
    }
  }
  void output(ValueId value) { made.outputs.push_back({here[value], {}}); }

  Graph made;
  std::vector<ValueId> operands; ///< of the whole graph, by input

private:
  static constexpr ValueId kInside = kNoValue - 1;
  std::span<const ValueType> types;
  std::vector<ValueId> here; ///< by value of the whole graph
};

class Cutter {
public:
  Cutter(const Graph &graph, const std::vector<bool> &isTaken)
      : graph(graph), isTaken(isTaken), types(graph.inputs) {
    for (const Node &node : graph.nodes) {
      firstResult.push_back(ValueId(types.size()));
      for (const TensorType &type : node.results)
        types.push_back({type, false});
    }
    rank();
  }

  Cut run() {
    result.rest.inputs = graph.inputs;
    result.rest.endedBy = graph.endedBy;
    here.assign(types.size(), kNoValue);
    for (ValueId i = 0; i < graph.inputs.size(); ++i)
      here[i] = i;
    next = ValueId(graph.inputs.size());
    std::vector<std::vector<uint32_t>> taken(highest + 1), left(highest + 1);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
      (isTaken[n] ? taken : left)[levels[n]].push_back(n);
    for (uint32_t level = 0; level <= highest; ++level) {
      if (!taken[level].empty())
        addPart(std::move(taken[level]));
      for (uint32_t n : left[level])
        addNode(n);
    }
    for (GraphOutput output : graph.outputs)
      result.rest.outputs.push_back({here[output.value], output.donated});
    return std::move(result);
  }

private:
  /// A node's level is how many parts must have run before it, and with it for
  /// a node that is in one: what it needs of those that are not comes first.
  void rank() {
    std::vector<uint32_t> ready(types.size(), 0), behindHost(types.size(), 0);
    usedOutside.assign(types.size(), false);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      uint32_t level = 0;
      forEachOperand(graph.nodes[n], [&](ValueId value) {
        level = std::max(level, isTaken[n] ? behindHost[value] : ready[value]);
      });
      levels.push_back(level);
      highest = std::max(highest, level);
      for (size_t r = 0; r < graph.nodes[n].results.size(); ++r) {
        ready[firstResult[n] + r] = level;
        behindHost[firstResult[n] + r] = level + (isTaken[n] ? 0 : 1);
      }
    }
    std::vector<uint32_t> maker(types.size(), kNoValue);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
      for (size_t r = 0; r < graph.nodes[n].results.size(); ++r)
        maker[firstResult[n] + r] = n;
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
      forEachOperand(graph.nodes[n], [&](ValueId value) {
        bool isInside = maker[value] != kNoValue && isTaken[n] &&
                        isTaken[maker[value]] &&
                        levels[maker[value]] == levels[n];
        if (!isInside)
          usedOutside[value] = true;
      });
    for (const GraphOutput &output : graph.outputs)
      usedOutside[output.value] = true;
  }

  void addNode(uint32_t n) {
    Node &node = result.rest.nodes.emplace_back(graph.nodes[n]);
    forEachOperand(node, [&](ValueId &value) { value = here[value]; });
    result.origin.push_back(n);
    for (size_t r = 0; r < node.results.size(); ++r)
      here[firstResult[n] + r] = next++;
  }

  void addPart(std::vector<uint32_t> taken) {
    std::vector<const Node *> nodes;
    std::vector<ValueId> first;
    for (uint32_t n : taken) {
      nodes.push_back(&graph.nodes[n]);
      first.push_back(firstResult[n]);
    }
    Extract extract(graph, types);
    extract.add(nodes, first);
    Node &node = result.rest.nodes.emplace_back();
    node.op = kPartOp;
    node.source = nodes[0]->source;
    for (ValueId value : extract.operands)
      node.arguments.push_back(
          {"x" + std::to_string(node.arguments.size()), here[value]});
    node.arguments.push_back(
        {"number", Attribute(int64_t(result.parts.size()))});
    result.origin.push_back(taken[0]);
    for (uint32_t n : taken)
      for (size_t r = 0; r < graph.nodes[n].results.size(); ++r) {
        ValueId value = firstResult[n] + ValueId(r);
        if (!usedOutside[value])
          continue;
        extract.output(value);
        node.results.push_back(types[value].tensor);
        here[value] = next++;
      }
    result.parts.push_back({std::move(extract.made), std::move(taken)});
  }

  const Graph &graph;
  const std::vector<bool> &isTaken;
  std::vector<ValueType> types;     ///< by value
  std::vector<ValueId> firstResult; ///< by node
  std::vector<uint32_t> levels;     ///< by node
  std::vector<bool> usedOutside;    ///< by value: of the part that makes it
  uint32_t highest = 0;
  Cut result;
  std::vector<ValueId> here; ///< the values in the rest
  ValueId next = 0;
};

} // namespace

Cut cut(const Graph &graph, const std::vector<bool> &isTaken) {
  return Cutter(graph, isTaken).run();
}

Graph callOf(const Graph &graph, uint32_t number) {
  std::vector<ValueType> types = graph.inputs;
  ValueId first = 0;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (n == number)
      first = ValueId(types.size());
    for (const TensorType &type : graph.nodes[n].results)
      types.push_back({type, false});
  }
  const Node *node = &graph.nodes[number];
  Extract extract(graph, types);
  extract.add({&node, 1}, {&first, 1});
  for (size_t r = 0; r < node->results.size(); ++r)
    extract.output(first + ValueId(r));
  return std::move(extract.made);
}

} // namespace ltc::runtime
