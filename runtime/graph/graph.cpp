//===- graph.cpp - Look-ups in a graph --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "graph/graph_sizes.h"
#include "ltc/region_ops.h"

#include <algorithm>

namespace ltc {

const Argument *Node::find(std::string_view name) const {
  for (const Argument &argument : arguments)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

ValueType Graph::typeOf(ValueId value) const {
  if (value < inputs.size())
    return inputs[value];
  size_t index = value - inputs.size();
  for (const Node &node : nodes) {
    if (index < node.results.size())
      return {node.results[index], false};
    index -= node.results.size();
  }
  return {};
}

int64_t Graph::sizeOf(const Formula &formula) {
  if (formula.isConstant())
    return formula.constant();
  auto found = std::find(formulas.begin(), formulas.end(), formula);
  if (found == formulas.end())
    found = formulas.insert(found, formula);
  return symbolicSize(uint32_t(found - formulas.begin()));
}

Formula Graph::formulaOf(int64_t size) const {
  return isSymbolic(size) ? formulas[formulaNumber(size)] : Formula(size);
}

namespace {

/// Puts numbers in place of symbolic sizes.
class Instance {
public:
  Instance(const Graph &graph, std::span<const int64_t> values)
      : values(values) {
    for (const Formula &formula : graph.formulas)
      sizes.push_back(formula.evaluate(values));
  }

  void replace(int64_t &size) {
    if (!isSymbolic(size))
      return;
    const std::optional<int64_t> &value = sizes[formulaNumber(size)];
    failed |= !value || isSymbolic(*value);
    size = value.value_or(0);
  }
  void replace(TensorType &type) {
    for (int64_t &dim : type.dims) {
      replace(dim);
      failed |= dim < 0;
    }
  }
  void replace(Argument &argument) {
    forEachSize(argument, [this](int64_t &size) { replace(size); });
  }
  void replaceRegions(Node &node) {
    for (std::string *text : regionTexts(node)) {
      if (!text)
        continue;
      Result<Graph> region = Graph::parse(*text);
      if (region && region->isDynamic())
        region = region->instantiate(values);
      failed |= !region;
      if (region)
        *text = region->str(SourceLines::Omit);
    }
  }

  bool failed = false;

private:
  std::span<const int64_t> values;
  std::vector<std::optional<int64_t>> sizes; ///< of each formula
};

} // namespace

Result<Graph> Graph::instantiate(std::span<const int64_t> values) const {
  Instance instance(*this, values);
  Graph made = *this;
  made.symbols.clear();
  made.formulas.clear();
  for (ValueType &type : made.inputs)
    instance.replace(type.tensor);
  for (Node &node : made.nodes) {
    for (Argument &argument : node.arguments)
      instance.replace(argument);
    for (TensorType &type : node.results)
      instance.replace(type);
    if (isDynamic() && hasRegions(node))
      instance.replaceRegions(node);
  }
  if (instance.failed)
    return Error{ErrorCode::InvalidArgument,
                 Stage::Graph,
                 "these values of a graph's symbols give no possible sizes",
                 "",
                 {},
                 ""};
  return made;
}

} // namespace ltc
