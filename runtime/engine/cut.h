//===- cut.h - A graph cut into parts for a device --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

namespace ltc::runtime {

/// The op of a node that stands for a part: not of the namespace ltc, whose
/// calls never fail.
inline constexpr std::string_view kPartOp = "torch_ltc::part";

/// A graph without symbols, cut in two: parts, each a graph of its own, and the
/// rest, in which each part is one node whose argument `number` says which.
struct Cut {
  struct Part {
    Graph graph;
    std::vector<uint32_t> nodes; ///< of the whole graph
  };
  std::vector<Part> parts;
  Graph rest;
  /// For each node of the rest the one of the whole graph; of a part its first.
  std::vector<uint32_t> origin;
};

/// `isTaken`: by node, whether it goes into a part. Makes as few parts as its
/// order of data allows: two are apart only if a node that is not taken lies on
/// a way from one to the other.
Cut cut(const Graph &graph, const std::vector<bool> &isTaken);

/// The graph of one node: its operands are the inputs, all results the outputs.
Graph callOf(const Graph &graph, uint32_t node);

} // namespace ltc::runtime
