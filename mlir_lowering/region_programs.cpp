//===- region_programs.cpp - Programs of a program's regions ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/region_programs.h"

#include "ltc/region_ops.h"
#include "mlir_lowering/stages.h"

#include <set>

namespace ltc::compiler {

namespace {

Result<std::string> compileRegion(const Graph &graph,
                                  const CompileOptions &options) {
  if (Status status = graph.verify(); !status)
    return status.takeError();
  Result<Artifact> artifact = compileGraph(graph, options);
  if (!artifact)
    return artifact.takeError();
  return artifact->serialize();
}

} // namespace

Status compileRegions(Artifact &artifact, const Graph &graph,
                      const CompileOptions &options) {
  std::set<std::string> known;
  for (const Artifact::Call &call : artifact.calls) {
    if (!hasRegions(call.graph))
      continue;
    const Node &node = call.graph.nodes[0];
    bool isKnown = call.node < graph.nodes.size();
    Result<std::vector<Graph>> regions =
        regionGraphs(node, isKnown ? graph.nodes[call.node].source : 0);
    if (!regions)
      return regions.takeError();
    for (size_t i = 0; i < regions->size(); ++i) {
      std::string name = regionName(regionsOf(node)[i]);
      if (!known.insert(name).second)
        continue;
      CompileOptions named = options;
      named.dumpName += "." + name.substr(0, 8);
      Result<std::string> bytes = compileRegion((*regions)[i], named);
      if (!bytes)
        return bytes.takeError();
      artifact.kernels.push_back({std::move(name), std::string(kRegionKernel),
                                  uint32_t(artifact.blobs.size())});
      artifact.blobs.push_back({std::string(kRegionBlob), std::move(*bytes)});
    }
  }
  return {};
}

} // namespace ltc::compiler
