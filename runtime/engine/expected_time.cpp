//===- expected_time.cpp - What a library call takes, by its sizes --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/expected_time.h"

#include "ltc/op_facts.h"
#include "ltc/region_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_set>

namespace ltc::runtime {
namespace {

/// A node beside the types of all values that its operands may be.
struct Call {
  const Node &node;
  std::span<const ValueType> types;

  /// Calls f with the type of each tensor that is an operand.
  template <typename F> void forOperands(const F &f) const {
    auto visit = [&](ValueId value) {
      if (value != kNoValue && !types[value].isScalar)
        f(types[value].tensor);
    };
    for (const Argument &argument : node.arguments)
      if (auto *one = std::get_if<ValueId>(&argument.value))
        visit(*one);
      else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
        std::ranges::for_each(*list, visit);
  }
  std::span<const int64_t> dimsOf(std::string_view name) const {
    const Argument *argument = node.find(name);
    auto *value = argument ? std::get_if<ValueId>(&argument->value) : nullptr;
    if (!value || *value == kNoValue)
      return {};
    return types[*value].tensor.dims;
  }
};

/// Elements of the largest three of a call's tensors.
std::array<double, 3> largestOf(const Call &call) {
  std::array<double, 4> largest = {1, 1, 1}; // the last is a new one's place
  auto add = [&](const TensorType &type) {
    largest[3] = 1;
    for (int64_t dim : type.dims)
      largest[3] *= double(dim);
    std::sort(largest.begin(), largest.end(), std::greater());
  };
  call.forOperands(add);
  std::ranges::for_each(call.node.results, add);
  return {largest[0], largest[1], largest[2]};
}

/// Elements of the rows of a table that a call reads.
double rowsOf(const Call &call) {
  auto table = call.dimsOf("weight"), indices = call.dimsOf("indices");
  double elements = table.empty() ? 0 : double(table.back());
  for (int64_t dim : indices)
    elements *= double(dim);
  return elements;
}

std::vector<ValueType> typesOf(const Graph &graph) {
  std::vector<ValueType> types = graph.inputs;
  for (const Node &node : graph.nodes)
    for (const TensorType &type : node.results)
      types.push_back({type, false});
  return types;
}

double expectedTimeOf(const Call &call);

/// Of a call that runs graphs, as often as loops often do.
double expectedTimeOfRegions(const Node &node) {
  constexpr double turns = 16;
  double time = 0;
  for (std::string_view text : regionsOf(node))
    if (Result<Graph> region = Graph::parse(text)) {
      std::vector<ValueType> types = typesOf(*region);
      for (const Node &inner : region->nodes)
        time += expectedTimeOf({inner, types});
    }
  return time * (isLoop(node) ? turns : 1);
}

double expectedTimeOf(const Call &call) {
  if (hasRegions(call.node))
    return expectedTimeOfRegions(call.node);
  // In nanoseconds, of 1M elements: `cumsum` takes 0.9 for each, `gather` 0.9,
  // `fft` 1.1, `scatter_add` 1.4, adaptive pooling 0.7 to 1.5, `topk` 2.6;
  // `kthvalue` 11, `median` 14, `multinomial` 22, `logcumsumexp` 27, `sort` 49.
  constexpr double product = 1. / 32, element = 1, ordered = 20, read = 0.25;
  auto [a, b, c] = largestOf(call);
  OpFacts facts = factsOf(call.node.op);
  if (facts.has(OpFact::Copies))
    return 0;
  if (facts.has(OpFact::LooksUp))
    return rowsOf(call) * read;
  // Of an m x k by a k x n matrix, the root of all three's sizes multiplied.
  if (facts.has(OpFact::Products))
    return std::sqrt(a * b * c) * product;
  return a * (facts.has(OpFact::Orders) ? ordered : element);
}

} // namespace

double expectedTime(const Graph &call) {
  return call.nodes.empty() ? 0 : expectedTimeOf({call.nodes[0], call.inputs});
}

double expectedRunTime(const Graph &graph) {
  constexpr double call = 5000, element = 1; // in nanoseconds
  std::vector<ValueType> types = typesOf(graph);
  double time = 0;
  for (const Node &node : graph.nodes) {
    double elements = 0; // a step of an optimizer has those of all parameters
    for (const TensorType &type : node.results)
      elements += double(type.elements());
    time += call + std::max(expectedTimeOf({node, types}), element * elements);
  }
  return time * 1e-9;
}

double expectedCompileTime(const Graph &graph) {
  constexpr double any = 0.02, kernel = 0.01, node = 0.0005; // in seconds
  std::unordered_set<Hash128> kernels; // equal ones are compiled once
  for (const Node &node : graph.nodes)
    if (!factsOf(node.op).has(OpFact::Products))
      kernels.insert(node.signature());
  return any + kernel * double(kernels.size()) +
         node * double(graph.nodes.size());
}

} // namespace ltc::runtime
