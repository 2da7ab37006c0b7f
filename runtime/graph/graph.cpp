//===- graph.cpp - Look-ups in a graph --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

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

} // namespace ltc
