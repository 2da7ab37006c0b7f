//===- align.cpp - One graph inside another ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy/align.h"

#include <algorithm>

namespace ltc::runtime {

std::string ValuePlace::str() const {
  if (kind == None)
    return "none";
  return (kind == Input ? "input " : "value ") + std::to_string(index);
}

ValuePlace valueOf(const Graph &graph, ValueId value) {
  if (value == kNoValue)
    return {};
  auto inputs = ValueId(graph.inputs.size());
  if (value < inputs)
    return {ValuePlace::Input, value};
  return {ValuePlace::Result, value - inputs};
}

FirstUse firstUse(const Graph &graph, uint32_t input) {
  for (const Node &node : graph.nodes)
    for (const Argument &argument : node.arguments) {
      if (auto *value = std::get_if<ValueId>(&argument.value)) {
        if (*value == input)
          return {&node, &argument};
      } else if (auto *list =
                     std::get_if<std::vector<ValueId>>(&argument.value)) {
        if (std::find(list->begin(), list->end(), input) != list->end())
          return {&node, &argument};
      }
    }
  return {};
}

namespace {

/// Finds the nodes of a graph, in order, among those of another.
class Alignment {
public:
  Alignment(const Graph &smaller, const Graph &larger)
      : smaller(smaller), larger(larger),
        to(smaller.inputs.size() + results(smaller), kNoValue),
        taken(larger.inputs.size(), false),
        twins(larger.nodes.size(), SIZE_MAX) {}

  bool run();
  std::optional<std::vector<Extra>> extraOutputs() const;

private:
  static size_t results(const Graph &graph) {
    size_t count = 0;
    for (const Node &node : graph.nodes)
      count += node.results.size();
    return count;
  }
  bool match(const Node &small, const Node &large);
  bool matchArgument(const Argument &small, const Argument &large);
  bool matchValue(ValueId small, ValueId large);

  const Graph &smaller, &larger;
  std::vector<ValueId> to;   ///< the larger graph's number for each value
  std::vector<bool> taken;   ///< inputs of the larger graph that stand for one
  std::vector<size_t> twins; ///< by node of the larger graph
  /// Inputs that the node at hand would pair; undone if it does not match.
  std::vector<std::pair<ValueId, ValueId>> tried;
};

bool Alignment::matchValue(ValueId small, ValueId large) {
  if (small == kNoValue || large == kNoValue)
    return small == large;
  if (to[small] != kNoValue)
    return to[small] == large;
  if (small >= smaller.inputs.size() || large >= larger.inputs.size() ||
      taken[large] || smaller.inputs[small] != larger.inputs[large])
    return false;
  to[small] = large;
  taken[large] = true;
  tried.emplace_back(small, large);
  return true;
}

bool Alignment::matchArgument(const Argument &small, const Argument &large) {
  if (small.name != large.name || small.value.index() != large.value.index())
    return false;
  if (auto *value = std::get_if<ValueId>(&small.value))
    return matchValue(*value, std::get<ValueId>(large.value));
  if (auto *list = std::get_if<std::vector<ValueId>>(&small.value))
    return std::equal(list->begin(), list->end(),
                      std::get<std::vector<ValueId>>(large.value).begin(),
                      std::get<std::vector<ValueId>>(large.value).end(),
                      [&](ValueId a, ValueId b) { return matchValue(a, b); });
  return small.value == large.value;
}

bool Alignment::match(const Node &small, const Node &large) {
  tried.clear();
  bool same = small.op == large.op && small.results == large.results &&
              std::equal(small.arguments.begin(), small.arguments.end(),
                         large.arguments.begin(), large.arguments.end(),
                         [&](const Argument &a, const Argument &b) {
                           return matchArgument(a, b);
                         });
  if (!same)
    for (auto [input, partner] : tried) {
      to[input] = kNoValue;
      taken[partner] = false;
    }
  return same;
}

bool Alignment::run() {
  if (smaller.nodes.size() > larger.nodes.size())
    return false;
  auto from = ValueId(smaller.inputs.size()),
       value = ValueId(larger.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < larger.nodes.size(); ++i) {
    const Node &node = larger.nodes[i];
    if (next < smaller.nodes.size() && match(smaller.nodes[next], node)) {
      twins[i] = next++;
      for (size_t r = 0; r < node.results.size(); ++r)
        to[from++] = value + ValueId(r);
    }
    value += ValueId(node.results.size());
  }
  return next == smaller.nodes.size();
}

std::optional<std::vector<Extra>> Alignment::extraOutputs() const {
  std::vector<ValueId> known;
  for (const GraphOutput &output : smaller.outputs)
    known.push_back(to[output.value]);
  std::sort(known.begin(), known.end());
  std::vector<ValueId> beyond;
  size_t met = 0;
  for (const GraphOutput &output : larger.outputs)
    if (std::binary_search(known.begin(), known.end(), output.value))
      ++met;
    else if (output.value >= larger.inputs.size())
      beyond.push_back(output.value);
  if (met != known.size() || beyond.empty())
    return std::nullopt;
  std::sort(beyond.begin(), beyond.end());
  std::vector<Extra> extra;
  auto first = ValueId(larger.inputs.size());
  for (size_t i = 0; i < larger.nodes.size(); ++i) {
    for (size_t r = 0; r < larger.nodes[i].results.size(); ++r, ++first)
      if (std::binary_search(beyond.begin(), beyond.end(), first))
        extra.push_back(
            {i, r,
             twins[i] == SIZE_MAX ? std::nullopt : std::optional(twins[i])});
  }
  return extra;
}

} // namespace

std::optional<std::vector<Extra>> outputsBeyond(const Graph &smaller,
                                                const Graph &larger) {
  Alignment alignment(smaller, larger);
  if (!alignment.run())
    return std::nullopt;
  return alignment.extraOutputs();
}

} // namespace ltc::runtime
