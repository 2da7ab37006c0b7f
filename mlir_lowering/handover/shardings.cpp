//===- shardings.cpp - Where devices have the parts of a tensor -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/handover/linalg.h"
#include "mlir_lowering/ops/op_call.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace ltc::compiler {

/// The grid of that shape: one of each stands in a module.
static StringRef gridOf(OpOp op, ArrayRef<int64_t> shape) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = "grid";
  for (int64_t size : shape)
    name += "_" + std::to_string(size);
  auto grid = module.lookupSymbol<shard::GridOp>(name);
  if (!grid) {
    auto b = OpBuilder::atBlockBegin(module.getBody());
    grid = shard::GridOp::create(b, op.getLoc(), name, shape);
  }
  return grid.getSymName();
}

void lowerToShard(OpOp op) {
  OpCall call(op);
  auto splits = call.integers("splits");
  SmallVector<SmallVector<shard::GridAxis>> axes(
      std::max<int64_t>(call.result().rank(), 1));
  for (auto [axis, dim] : llvm::enumerate(splits))
    if (dim >= 0)
      axes[dim].push_back(shard::GridAxis(axis));
  SmallVector<shard::GridAxesAttr> attributes;
  for (ArrayRef<shard::GridAxis> each : axes)
    attributes.push_back(shard::GridAxesAttr::get(op.getContext(), each));
  OpBuilder b(op);
  auto sharding = shard::ShardingOp::create(
      b, op.getLoc(), gridOf(op, call.integers("grid")), attributes);
  auto placed =
      shard::ShardOp::create(b, op.getLoc(), op.getInputs()[0], sharding);
  op->replaceAllUsesWith(placed->getResults());
  op->erase();
}

} // namespace ltc::compiler
