//===- ops/shard.h - Where devices have a tensor's parts --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// `torch_ltc::shard(self, grid, splits)` is its argument, of which a grid of
/// devices has parts: each axis of the grid splits the dimension that `splits`
/// has for it, or none (-1). One device does nothing with that; a graph that is
/// handed over says it.
void registerShard();

} // namespace ltc::backend
