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

Result<std::string> compileRegion(std::string_view text,
                                  const CompileOptions &options) {
  Result<Graph> graph = Graph::parse(text);
  if (!graph)
    return graph.takeError();
  if (Status status = graph->verify(); !status)
    return status.takeError();
  Result<Artifact> artifact = compileGraph(*graph, options);
  if (!artifact)
    return artifact.takeError();
  return artifact->serialize();
}

} // namespace

Status compileRegions(Artifact &artifact, const CompileOptions &options) {
  std::set<std::string> known;
  for (const Artifact::Call &call : artifact.calls) {
    if (!hasRegions(call.graph))
      continue;
    for (std::string_view text : regionsOf(call.graph.nodes[0])) {
      std::string name = regionName(text);
      if (!known.insert(name).second)
        continue;
      CompileOptions own = options;
      own.dumpName += "." + name.substr(0, 8);
      Result<std::string> bytes = compileRegion(text, own);
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
