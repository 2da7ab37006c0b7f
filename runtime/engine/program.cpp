//===- program.cpp - An artifact loaded on a device -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/program.h"

namespace ltc::runtime {

Program::Program(std::shared_ptr<Device> device, Artifact artifact,
                 ltc_program *handle, const Graph &graph)
    : device(std::move(device)), loaded(std::move(artifact)),
      endedBy(graph.endedBy), nodes(graph.nodes.size()), handle(handle) {
  if (loaded.errorSites.empty() && loaded.calls.empty())
    return;
  for (const Node &node : graph.nodes)
    sources.push_back(node.source);
}

Result<std::shared_ptr<Program>> Program::load(std::shared_ptr<Device> device,
                                               Artifact artifact,
                                               std::string_view bytes,
                                               const Graph &graph) {
  Result<ltc_program *> handle = device->load(bytes);
  if (!handle)
    return handle.takeError();
  return std::shared_ptr<Program>(
      new Program(std::move(device), std::move(artifact), *handle, graph));
}

Source Program::sourceOfNode(uint32_t node) const {
  return node < sources.size() ? sourceOf(sources[node]) : Source();
}

std::optional<Program::Site> Program::siteOf(int64_t number) const {
  if (number < 0)
    return std::nullopt;
  auto index = size_t(number);
  if (index < loaded.errorSites.size()) {
    const Artifact::ErrorSite &site = loaded.errorSites[index];
    return Site{site.op, site.operands, sourceOfNode(site.node)};
  }
  index -= loaded.errorSites.size();
  if (index >= loaded.calls.size() || loaded.calls[index].graph.nodes.empty())
    return std::nullopt;
  const Artifact::Call &call = loaded.calls[index];
  Site site{call.graph.nodes[0].op, "", sourceOfNode(call.node)};
  for (const ValueType &type : call.graph.inputs)
    site.operands += (site.operands.empty() ? "" : ", ") + type.str();
  return site;
}

} // namespace ltc::runtime
