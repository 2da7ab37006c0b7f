//===- collectives/collective_chain.h - The order of calls ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What begins in graphs is one chain a process. What PyTorch calls itself, with
// tensors of the CPU or where nothing is recorded, comes behind all of it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/graph_collective.h"

namespace ltc::backend {

/// Records on the device that it begins, behind those before it. `key` says to
/// a graph's key what it is.
void recordStart(const GraphCollectivePtr &collective, int64_t device,
                 const std::string &key, c10::ArrayRef<at::Tensor> read);
/// Gives the tensor, which the collective writes to as its number `index`, the
/// value to come. Once for each.
void recordFetch(GraphCollective &collective, int64_t index,
                 const at::Tensor &tensor);
/// Ends the graph in which the last one begins, if that is still recorded.
void launchRecorded();
/// Waits until all that are recorded have begun.
void settleRecorded();

} // namespace ltc::backend
