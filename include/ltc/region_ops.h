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
// Where a region draws random numbers, the node has the overload `seeded` and,
// as its last argument, a seed. It is no input of the regions: behind the
// others they have as many I64 scalars as they have draws, which get the next
// numbers of nextSeed() each time that a region runs.
//
// In a graph with symbols, the regions have the same ones.
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
                                  kSeeded = ".seeded", kRegionKernel = "region",
                                  kRegionBlob = "program";

inline bool isSeeded(const Node &node) { return node.op.ends_with(kSeeded); }

inline bool isLoop(const Node &node) { return node.op.starts_with(kWhileLoop); }

inline bool hasRegions(const Node &node) {
  std::string_view op = node.op;
  if (isSeeded(node))
    op.remove_suffix(kSeeded.size());
  return op == kCond || op == kWhileLoop;
}

/// The same of a library call.
inline bool hasRegions(const Graph &call) {
  return call.nodes.size() == 1 && hasRegions(call.nodes[0]);
}

/// The texts of a node's regions, in order; empty where it has none.
LTC_API std::array<std::string_view, 2> regionsOf(const Node &node);

/// The same to be changed; null where there is none.
std::array<std::string *, 2> regionTexts(Node &node);
/// The region of this text as a graph with the symbols and formulas of the one
/// that has it.
Result<Graph> regionIn(const Graph &graph, std::string_view text);
/// Adds the formulas of the node's regions to the graph's, and their symbols to
/// a graph without.
LTC_API void noteRegionFormulas(Graph &graph, const Node &node);

inline std::string regionName(std::string_view text) {
  return Hasher().add(text).finish().str();
}

/// The next seed that follows from a state: splitmix64 (Steele, Lea and Flood
/// 2014).
inline uint64_t nextSeed(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Nodes of regions have numbers: region by region, in order, the nodes of a
// node's own regions behind it.

struct RegionNode {
  Graph region;
  uint32_t node; ///< of that graph
};
/// The node of that number among a node's regions'; nothing if there is none.
std::optional<RegionNode> regionNode(const Node &node, size_t number);
size_t countRegionNodes(const Node &node);
/// The number of a graph's node among all of the graph's, and how many it has.
LTC_API size_t placeOf(const Graph &graph, size_t node);
LTC_API size_t countNodes(const Graph &graph);

/// The place of a call, which also tells the lines of its regions' nodes, by
/// their numbers: Node::source of a node with regions. Any thread.
LTC_API SourceId withRegionSources(SourceId call,
                                   std::span<const SourceId> nodes);
/// Those lines; empty if they are not known. Any thread.
std::vector<SourceId> regionSources(SourceId call);
/// The lines of a graph's nodes, by their numbers.
LTC_API std::vector<SourceId> nodeSources(const Graph &graph);
/// A node's regions, with the lines that the place of the call tells.
LTC_API Result<std::vector<Graph>> regionGraphs(const Node &node,
                                                SourceId call);

} // namespace ltc
