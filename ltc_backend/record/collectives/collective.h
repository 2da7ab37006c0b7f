//===- collectives/collective.h - A collective's kernel ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective is what PyTorch makes of it on the CPU, by the backend that the
// process group has for lazy tensors, such as Gloo, or on a GPU by NCCL: called
// by a graph (recorded_collective.h), or at once (graph/reads/call_memory.h).
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

void registerCollectives();

} // namespace ltc::backend
