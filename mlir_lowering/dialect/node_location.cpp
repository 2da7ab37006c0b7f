//===- node_location.cpp - Which nodes an op computes -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/node_location.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ltc::compiler {

/// Calls f with each part of a location that says its node.
static void visitNodes(Location location,
                       llvm::function_ref<void(FusedLoc, int64_t)> f) {
  if (auto name = dyn_cast<NameLoc>(location))
    return visitNodes(name.getChildLoc(), f);
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return;
  if (auto node = dyn_cast_or_null<IntegerAttr>(fused.getMetadata()))
    return f(fused, node.getInt());
  for (Location part : fused.getLocations())
    visitNodes(part, f);
}

Location atNode(Location place, int64_t node) {
  Builder b(place.getContext());
  return FusedLoc::get(place.getContext(), {place}, b.getI64IntegerAttr(node));
}

Location atNodesOf(Location place, ArrayRef<Operation *> ops) {
  llvm::SetVector<Location> parts;
  for (Operation *root : ops)
    root->walk([&](Operation *op) {
      visitNodes(op->getLoc(),
                 [&](FusedLoc part, int64_t) { parts.insert(part); });
    });
  return parts.empty() ? place
                       : FusedLoc::get(place.getContext(), parts.getArrayRef());
}

SmallVector<uint32_t> nodesAt(Location location) {
  SmallVector<uint32_t> nodes;
  visitNodes(location,
             [&](FusedLoc, int64_t node) { nodes.push_back(uint32_t(node)); });
  llvm::sort(nodes);
  nodes.erase(llvm::unique(nodes), nodes.end());
  return nodes;
}

} // namespace ltc::compiler
