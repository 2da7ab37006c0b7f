//===- graph/saved_graph.h - PyTorch's file of all graphs -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The environment variable LTC_SAVE_TENSORS_FILE of PyTorch's own lazy core
// names a file that receives each graph as it is launched, in the form that
// LTC_SAVE_TENSORS_FMT says: text, dot or backend.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/collect.h"

#include <torch/csrc/lazy/core/ir_metadata.h>

namespace ltc::backend {

using Frames = std::optional<std::vector<torch::lazy::SourceLocation>>;

/// The Python frames of the calling thread if graphs are saved, else none. May
/// take the GIL: hold no lock.
Frames framesToSave();
/// Appends the graph to the file. With the lock of the device's syncs.
void saveGraph(const Collection &collection, const Frames::value_type &frames);

} // namespace ltc::backend
