//===- program_details.cpp - What a program's steps are ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a profile. A step names the nodes that it computes; what it reads and
// writes follows: a value stands in memory if a step that does not compute it
// uses it.
//
//===----------------------------------------------------------------------===//
#include "engine/program.h"

#include "graph/flops.h"
#include "ltc/op_facts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ltc::runtime {

using profile::GraphDetails;
using profile::NodeValue;

namespace {

constexpr uint32_t kNever = UINT32_MAX;

class Describer {
public:
  Describer(const Artifact &artifact, const Graph &graph,
            std::span<const int64_t> symbols)
      : artifact(artifact), graph(graph), symbols(symbols),
        types(valueTypes(graph)) {
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
      first.push_back(uint32_t(graph.inputs.size() + maker.size()));
      maker.insert(maker.end(), graph.nodes[node].results.size(), node);
    }
    firstStep.assign(graph.nodes.size(), kNever);
    steps.assign(graph.nodes.size(), 0);
    for (uint32_t step = 0; step < artifact.steps.size(); ++step)
      for (uint32_t node : nodesOf(step)) {
        firstStep[node] = std::min(firstStep[node], step);
        ++steps[node];
      }
    findLives();
  }

  void describe(GraphDetails &to) const {
    for (uint32_t step = 0; step < artifact.steps.size(); ++step)
      to.kernels.push_back(kernel(step));
    for (const GraphOutput &output : graph.outputs)
      to.results.push_back(
          {makerOf(output.value), size_t(bytesOf(output.value))});
    addPeak(to);
  }

private:
  std::vector<uint32_t> nodesOf(uint32_t step) const {
    const ltc_step &of = artifact.steps[step];
    std::vector<uint32_t> nodes;
    for (uint32_t node :
         std::span(artifact.nodes).subspan(of.first_node, of.nodes))
      if (node < graph.nodes.size())
        nodes.push_back(node);
    return nodes;
  }

  uint32_t makerOf(ValueId value) const {
    return value < graph.inputs.size() ? NodeValue::kNone
                                       : maker[value - graph.inputs.size()];
  }
  double bytesOf(ValueId value) const {
    return types[value].isScalar ? 0 : double(types[value].tensor.bytes());
  }

  /// What a value is a view of: a node that no step computes makes none of its
  /// own.
  ValueId memoryOf(ValueId value) const {
    for (;;) {
      uint32_t node = makerOf(value);
      if (node == NodeValue::kNone || firstStep[node] != kNever)
        return value;
      std::optional<ValueId> base;
      forOperands(graph.nodes[node], [&](ValueId operand) {
        if (!base && !types[operand].isScalar)
          base = operand;
      });
      if (!base)
        return value; // a constant
      value = *base;
    }
  }

  /// From which step on, and to which, each value stands in memory.
  void findLives() {
    lastUse.assign(types.size(), kNever);
    for (uint32_t step = 0; step < artifact.steps.size(); ++step) {
      auto nodes = nodesOf(step);
      std::unordered_set<uint32_t> computed(nodes.begin(), nodes.end());
      for (uint32_t node : nodes)
        forOperands(graph.nodes[node], [&](ValueId operand) {
          ValueId memory = memoryOf(operand);
          uint32_t of = makerOf(memory);
          if (of == NodeValue::kNone || !computed.contains(of))
            lastUse[memory] = step;
        });
    }
    auto end = uint32_t(artifact.steps.size());
    for (const GraphOutput &output : graph.outputs)
      lastUse[memoryOf(output.value)] = end;
  }

  profile::Kernel kernel(uint32_t step) const {
    const ltc_step &of = artifact.steps[step];
    profile::Kernel made;
    made.nodes = nodesOf(step);
    if (of.kind == LTC_COPY) {
      made.name = made.label = made.kind = "copy";
      made.bytes =
          2 * double(valueOf(artifact.words[of.first_word + 2].amount));
      return made;
    }
    if (of.kind == LTC_CALL) {
      describeCall(artifact.calls[of.target].graph, made);
      return made;
    }
    made.name = artifact.kernels[of.target].name;
    made.label = labelOf(made);
    made.kind = artifact.kernels[of.target].kind;
    for (uint32_t node : made.nodes)
      made.flops += partOf(node) * flopsOf(graph.nodes[node], types);
    made.bytes =
        made.nodes.empty() ? bytesOfCopy(of) : bytesOfNodes(step, made.nodes);
    return made;
  }

  /// What is no node's copies an input to a result.
  double bytesOfCopy(const ltc_step &of) const {
    double bytes = 0;
    for (const ltc_word &word :
         std::span(artifact.words).subspan(of.first_word, of.words))
      if (word.base == LTC_INPUT)
        bytes += bytesOf(word.index);
      else if (word.base == LTC_RESULT)
        bytes += bytesOf(graph.outputs[word.index].value);
    return bytes;
  }

  /// "kernel_3 (mul, add)": its first few different ops. One that only copies
  /// an input to a result has none.
  std::string labelOf(const profile::Kernel &kernel) const {
    constexpr size_t kMostNamed = 4;
    std::vector<std::string_view> ops;
    for (uint32_t node : kernel.nodes) {
      std::string_view op = graph.nodes[node].op;
      if (op.starts_with("aten::"))
        op.remove_prefix(std::string_view("aten::").size());
      if (std::ranges::find(ops, op) == ops.end())
        ops.push_back(op);
    }
    if (ops.empty())
      return kernel.name;
    std::string text = kernel.name + " (";
    for (size_t i = 0; i < std::min(ops.size(), kMostNamed); ++i)
      text.append(i ? ", " : "").append(ops[i]);
    if (ops.size() > kMostNamed)
      text += ", … " + std::to_string(ops.size() - kMostNamed) + " more";
    return text + ")";
  }

  void describeCall(const Graph &call, profile::Kernel &made) const {
    made.name = made.label = call.nodes[0].op;
    made.kind = "call";
    Result<Graph> fixed = call.instantiate(symbols);
    if (!fixed)
      return;
    std::vector<ValueType> callTypes = valueTypes(*fixed);
    made.flops = flopsOf(fixed->nodes[0], callTypes);
    for (const ValueType &type : callTypes)
      made.bytes += type.isScalar ? 0 : double(type.tensor.bytes());
  }

  /// Whether it is one op on many tensors, which steps share among them.
  bool isSplit(uint32_t node) const {
    const std::string &op = graph.nodes[node].op;
    return steps[node] > 1 && (factsOf(op).has(OpFact::FusedStep) ||
                               op.starts_with("aten::_foreach"));
  }
  /// What one step does of a node, if all do as much.
  double partOf(uint32_t node) const {
    return isSplit(node) ? 1. / double(steps[node]) : 1;
  }
  double bytesOfAll(uint32_t node) const {
    double bytes = 0;
    forOperands(graph.nodes[node],
                [&](ValueId operand) { bytes += bytesOf(operand); });
    for (const TensorType &type : graph.nodes[node].results)
      bytes += double(type.bytes());
    return bytes;
  }

  double bytesOfNodes(uint32_t step, std::span<const uint32_t> nodes) const {
    std::unordered_set<uint32_t> computed(nodes.begin(), nodes.end());
    std::unordered_map<ValueId, double> read;
    double bytes = 0;
    for (uint32_t node : nodes) {
      if (isSplit(node)) {
        bytes += partOf(node) * bytesOfAll(node);
        continue;
      }
      forOperands(graph.nodes[node], [&](ValueId operand) {
        ValueId memory = memoryOf(operand);
        uint32_t of = makerOf(memory);
        if (of != NodeValue::kNone && computed.contains(of))
          return;
        // Of a slice its own bytes, of what is expanded those there are.
        double &known = read[memory];
        double shown = bytesOf(operand);
        if (copiesView(graph.nodes[node]))
          shown = std::min(shown, bytesOf(first[node]));
        known = std::max(known, std::min(shown, bytesOf(memory)));
      });
      for (size_t i = 0; i < graph.nodes[node].results.size(); ++i)
        if (firstStep[node] == step && lastUse[first[node] + i] != kNever)
          bytes += bytesOf(ValueId(first[node] + i));
    }
    for (const auto &[value, size] : read)
      bytes += size;
    return bytes;
  }

  int64_t valueOf(int64_t number) const {
    if (!isSymbolic(number))
      return number;
    return artifact.formulas[formulaNumber(number)].evaluate(symbols).value_or(
        0);
  }

  /// Inputs stand outside of it; its own values are what a step adds.
  void addPeak(GraphDetails &to) const {
    std::vector<double> live(artifact.steps.size() + 1);
    auto visit = [&](auto f) {
      for (ValueId value = ValueId(graph.inputs.size()); value < types.size();
           ++value)
        if (lastUse[value] != kNever && firstStep[makerOf(value)] != kNever)
          f(value, firstStep[makerOf(value)], lastUse[value]);
    };
    visit([&](ValueId value, uint32_t begin, uint32_t end) {
      live[begin] += bytesOf(value);
      if (end + 1 < live.size())
        live[end + 1] -= bytesOf(value);
    });
    for (size_t i = 1; i < live.size(); ++i)
      live[i] += live[i - 1];
    to.peakStep = uint32_t(std::ranges::max_element(live) - live.begin());
    visit([&](ValueId value, uint32_t begin, uint32_t end) {
      if (begin <= to.peakStep && to.peakStep <= end)
        to.atPeak.push_back({makerOf(value), size_t(bytesOf(value))});
    });
    std::ranges::sort(to.atPeak, std::greater(), [](const NodeValue &value) {
      return std::pair(value.bytes, value.node);
    });
    constexpr size_t kMostShown = 20;
    to.atPeak.resize(std::min(to.atPeak.size(), kMostShown));
  }

  const Artifact &artifact;
  const Graph &graph;
  std::span<const int64_t> symbols;
  std::vector<ValueType> types;
  std::vector<uint32_t> maker;     ///< by value, without the inputs
  std::vector<uint32_t> first;     ///< value of a node
  std::vector<uint32_t> firstStep; ///< of a node
  std::vector<uint32_t> steps;     ///< how many compute a part of a node
  std::vector<uint32_t> lastUse;   ///< of a value in memory
};

} // namespace

std::optional<Graph> BoundProgram::graphThatRan() const {
  // The text is all that is kept of the graph.
  Result<Graph> graph = Graph::parse(artifact().graphText);
  if (!graph)
    return std::nullopt;
  if (graph->isDynamic()) {
    graph = graph->instantiate(symbols);
    if (!graph)
      return std::nullopt;
  }
  for (size_t i = 0; i < graph->nodes.size() && i < sources.size(); ++i)
    graph->nodes[i].source = sources[i];
  return std::move(*graph);
}

profile::GraphNode BoundProgram::makerOfResult(size_t result) const {
  std::optional<Graph> graph = graphThatRan();
  if (!graph || result >= graph->outputs.size())
    return {};
  size_t value = graph->outputs[result].value;
  size_t next = graph->inputs.size();
  for (const Node &node : graph->nodes) {
    size_t first = std::exchange(next, next + node.results.size());
    if (value < next)
      return value < first ? profile::GraphNode()
                           : profile::GraphNode{node.op, node.source};
  }
  return {};
}

const std::vector<std::string> &BoundProgram::labels() {
  if (stepLabels.empty()) {
    for (profile::Kernel &kernel : details().kernels)
      stepLabels.push_back((kernel.kind == "call" ? "call " : "") +
                           kernel.label);
    stepLabels.resize(artifact().steps.size());
  }
  return stepLabels;
}

GraphDetails BoundProgram::details() const {
  GraphDetails made;
  made.listing = artifact().listing();
  made.endedBy = endedBy;
  made.arena = arenaBytes;
  std::optional<Graph> graph = graphThatRan();
  if (!graph)
    return made;
  made.text = graph->str();
  for (const Node &node : graph->nodes)
    made.nodes.push_back({node.op, node.source});
  Describer(artifact(), *graph, symbols).describe(made);
  return made;
}

} // namespace ltc::runtime
