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
/// a graph's key what it is. Returns whether nothing is recorded there that
/// computes.
bool recordStart(const GraphCollectivePtr &collective, int64_t device,
                 const std::string &key, c10::ArrayRef<at::Tensor> read);
/// Gives the tensor, which the collective writes to as its number `index`, the
/// value to come. Once for each.
void recordFetch(GraphCollective &collective, int64_t index,
                 const at::Tensor &tensor);
/// Launches the last one, if that is still recorded, and what it needs. Without
/// `raises`, who reads a value gets the errors.
void launchRecorded(bool raises = true);
/// Waits until all that are recorded have begun.
LTC_API void settleRecorded();
/// At the end of the process: waits until all that are recorded are over, since
/// other ranks need this one for that.
void finishRecorded();
/// How much was recorded on the device of the last one since somebody asked for
/// metrics, if that one is still recorded.
std::optional<int64_t> recordedAround();

} // namespace ltc::backend
