//===- seeded_miscompiles.cpp - Compiles that go wrong on purpose ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tests/python/tools/test_verify.py loads, to see such graphs found.
//
//===----------------------------------------------------------------------===//
#include "ltc/compile_hooks.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>

using namespace ltc;

namespace {

std::string &kind() {
  static auto *kind = new std::string;
  return *kind;
}

ValueId *operand(Node &node, std::string_view name) {
  for (Argument &argument : node.arguments)
    if (argument.name == name)
      return std::get_if<ValueId>(&argument.value);
  return nullptr;
}

/// The row of an op is that of another.
void seedRow(Graph &graph) {
  for (Node &node : graph.nodes)
    if (node.op == "aten::expm1")
      node.op = "aten::exp";
}

/// Where a product meets a difference, its operands change places.
void seedOrder(Graph &graph) {
  std::map<ValueId, const Node *> makers;
  auto next = ValueId(graph.inputs.size());
  for (Node &node : graph.nodes) {
    ValueId *self = operand(node, "self"), *other = operand(node, "other");
    if (node.op == "aten::sub.Tensor" && self && other &&
        makers.contains(*self) && makers[*self]->op == "aten::mul.Tensor" &&
        graph.typeOf(*other) == graph.typeOf(*self))
      std::swap(*self, *other);
    for (size_t i = 0; i < node.results.size(); ++i)
      makers[next++] = &node;
  }
}

/// A number is taken from the place of another.
void seedScalar(Graph &graph) {
  ValueId first = kNoValue;
  for (Node &node : graph.nodes)
    if (ValueId *other = operand(node, "other");
        other && *other < graph.inputs.size() &&
        graph.inputs[*other].isScalar) {
      if (first != kNoValue)
        *other = first;
      first = *other;
    }
}

/// The compiler meets a result of a shape that the op cannot have.
void seedFailure(Graph &graph) {
  for (Node &node : graph.nodes)
    if (node.op == "aten::expm1")
      std::ranges::reverse(node.results[0].dims);
}

void seedGraph(Graph &graph) {
  if (kind() == "row")
    seedRow(graph);
  else if (kind() == "order")
    seedOrder(graph);
  else if (kind() == "scalar")
    seedScalar(graph);
  else if (kind() == "failure")
    seedFailure(graph);
}

/// The last tile of each loop is left out.
void seedBound(Artifact &artifact) {
  for (const ltc_step &step : artifact.steps)
    if (step.kind == LTC_LAUNCH && step.extents) {
      ltc_extent &extent = artifact.extents[step.first_extent];
      if (extent.length > extent.step)
        extent.length -= extent.step;
    }
}

/// What writes over an input does so before all others have read it.
void seedDonation(Artifact &artifact) {
  auto writes = [](const ltc_step &step) { return step.writes_donated != 0; };
  std::vector<ltc_step> steps;
  std::ranges::copy_if(artifact.steps, std::back_inserter(steps), writes);
  std::ranges::copy_if(artifact.steps, std::back_inserter(steps),
                       std::not_fn(writes));
  artifact.steps = std::move(steps);
}

void seedArtifact(Artifact &artifact) {
  if (kind() == "bound")
    seedBound(artifact);
  else if (kind() == "donation")
    seedDonation(artifact);
}

} // namespace

/// "row", "order", "scalar", "bound", "donation", "failure", or "" for none.
extern "C" LTC_API void ltc_seed(const char *what) {
  kind() = what;
  bool any = !kind().empty();
  compileHooks.seedGraph = any ? seedGraph : nullptr;
  compileHooks.seedArtifact = any ? seedArtifact : nullptr;
}
