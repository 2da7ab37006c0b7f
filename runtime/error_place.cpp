//===- error_place.cpp - What the number of an error means ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "error_place.h"

#include "ltc/region_ops.h"

namespace ltc::runtime {

static size_t innerNodes(const Artifact::Call &call) {
  return hasRegions(call.graph) ? countRegionNodes(call.graph.nodes[0]) : 0;
}

static ErrorPlace placeOfCall(const Artifact::Call &call) {
  ErrorPlace place{"", call.node, &call, {}};
  if (!call.graph.nodes.empty())
    place.op = call.graph.nodes[0].op;
  return place;
}

ErrorPlace errorPlace(const Artifact &artifact, int64_t number) {
  if (number < 0)
    return {};
  auto index = size_t(number);
  if (index < artifact.errorSites.size())
    return {artifact.errorSites[index].op,
            artifact.errorSites[index].node,
            nullptr,
            {}};
  index -= artifact.errorSites.size();
  if (index < artifact.calls.size())
    return placeOfCall(artifact.calls[index]);
  index -= artifact.calls.size();
  for (const Artifact::Call &call : artifact.calls) {
    size_t inside = innerNodes(call);
    if (index < inside) {
      ErrorPlace place = placeOfCall(call);
      place.inner = index;
      return place;
    }
    index -= inside;
  }
  return {};
}

int64_t errorNumber(const Artifact &artifact, size_t call,
                    std::optional<size_t> inner) {
  size_t number = artifact.errorSites.size();
  if (!inner)
    return int64_t(number + call);
  number += artifact.calls.size() + *inner;
  for (const Artifact::Call &before :
       std::span(artifact.calls).first(std::min(call, artifact.calls.size())))
    number += innerNodes(before);
  return int64_t(number);
}

std::string ErrorPlace::prefix() const {
  if (op.empty())
    return "";
  std::string text = op + ": ";
  if (inner)
    if (auto found = regionNode(call->graph.nodes[0], *inner))
      text += found->region.nodes[found->node].op + ": ";
  return text;
}

} // namespace ltc::runtime
