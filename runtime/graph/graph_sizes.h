//===- graph_sizes.h - The sizes in a graph ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

namespace ltc {

/// Calls `f` with each integer of an attribute that may be symbolic.
template <typename F> void forEachSize(Argument &argument, F &&f) {
  auto *attribute = std::get_if<Attribute>(&argument.value);
  if (!attribute)
    return;
  if (auto *number = std::get_if<int64_t>(attribute))
    f(*number);
  if (auto *list = std::get_if<std::vector<int64_t>>(attribute))
    for (int64_t &number : *list)
      f(number);
}

/// The same of a graph, but for its regions.
template <typename F> void forEachSize(Graph &graph, F &&f) {
  for (ValueType &type : graph.inputs)
    for (int64_t &dim : type.tensor.dims)
      f(dim);
  for (Node &node : graph.nodes) {
    for (Argument &argument : node.arguments)
      forEachSize(argument, f);
    for (TensorType &type : node.results)
      for (int64_t &dim : type.dims)
        f(dim);
  }
}

} // namespace ltc
