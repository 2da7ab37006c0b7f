//===- region_ops.h - Calls that run graphs of their own --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow is a node whose regions are graphs, as text, in two attributes:
//
//   ltc::cond(predicate, operands, numbers, then, otherwise)
//   ltc::while_loop(carried, operands, numbers, condition, body)
//
// A region's inputs are those of the node behind the predicate: tensors, then
// scalars. The results of `then`, `otherwise` and `body` are the node's, and
// those of `body` have the types of `carried`; `condition` gives one bool.
//
// The compiler makes a program of each region. It is a blob of the program that
// makes the call, of the kind "program", and a kernel of the kind "region"
// whose name is regionName() of its text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <array>

namespace ltc {

inline constexpr std::string_view kCond = "ltc::cond",
                                  kWhileLoop = "ltc::while_loop",
                                  kRegionKernel = "region",
                                  kRegionBlob = "program";

inline bool hasRegions(const Node &node) {
  return node.op == kCond || node.op == kWhileLoop;
}

/// The same of a library call.
inline bool hasRegions(const Graph &call) {
  return call.nodes.size() == 1 && hasRegions(call.nodes[0]);
}

/// The texts of a node's regions, in order; empty where it has none.
inline std::array<std::string_view, 2> regionsOf(const Node &node) {
  constexpr std::array<const char *, 2> branches = {"then", "otherwise"},
                                        loop = {"condition", "body"};
  std::array<std::string_view, 2> texts;
  if (!hasRegions(node))
    return texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Argument *argument =
        node.find((node.op == kCond ? branches : loop)[i]);
    auto *attribute =
        argument ? std::get_if<Attribute>(&argument->value) : nullptr;
    if (auto *text = attribute ? std::get_if<std::string>(attribute) : nullptr)
      texts[i] = *text;
  }
  return texts;
}

inline std::string regionName(std::string_view text) {
  return Hasher().add(text).finish().str();
}

} // namespace ltc
