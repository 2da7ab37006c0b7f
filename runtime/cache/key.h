//===- key.h - The name of a graph's entry on disk --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dynamic/skeleton.h"

namespace ltc::runtime {

/// What stands for graphs of one structure whose sizes were left open and that
/// take over the same inputs: there is one entry for all of them, since whoever
/// looks has a trace and no formulas.
inline Hash128 familyHash(Hash128 skeleton,
                          const std::vector<GraphOutput> &outputs) {
  Hasher hasher;
  hasher.add(skeleton).add(std::string_view("open"));
  for (const GraphOutput &output : outputs)
    hasher.add(output.donated ? uint64_t(*output.donated) + 1 : 0);
  return hasher.finish();
}

/// What stands for a graph in the key of its entry.
inline Hash128 entryHash(const Graph &graph) {
  return graph.isDynamic() ? familyHash(skeletonOf(graph).key, graph.outputs)
                           : graph.hash();
}

/// All that decides an artifact: the graph, the target with every feature of
/// its CPU, the compiler's build and its recipes. Nothing of this process or
/// this machine.
inline Hash128 diskKey(Hash128 graph, std::string_view target,
                       std::string_view compiler) {
  return Hasher().add(graph).add(target).add(compiler).finish();
}

} // namespace ltc::runtime
