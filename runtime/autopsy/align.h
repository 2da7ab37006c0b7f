//===- align.h - One graph inside another -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

namespace ltc::runtime {

/// A value by where it comes from, so that graphs with unlike numbers of inputs
/// can be compared.
struct ValuePlace {
  enum Kind : uint8_t { None, Input, Result } kind = None;
  uint32_t index = 0; ///< of the input, or among all results

  std::string str() const;
  bool operator==(const ValuePlace &) const = default;
};
ValuePlace valueOf(const Graph &graph, ValueId value);

/// The node and argument that first take an input; null if none does.
struct FirstUse {
  const Node *node = nullptr;
  const Argument *argument = nullptr;
};
FirstUse firstUse(const Graph &graph, uint32_t input);

/// An output of the larger graph that the smaller does not have.
struct Extra {
  size_t node = 0, result = 0; ///< in the larger graph
  std::optional<size_t> twin;  ///< the smaller graph's node that makes it, too
};
/// If `larger` computes all that `smaller` does, in the same order, and hands
/// out all its outputs and more: the more. O(nodes).
std::optional<std::vector<Extra>> outputsBeyond(const Graph &smaller,
                                                const Graph &larger);

} // namespace ltc::runtime
