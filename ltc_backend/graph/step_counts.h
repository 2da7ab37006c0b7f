//===- graph/step_counts.h - What optimizers count on the host --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer counts its steps in tensors on the CPU, when a step is recorded.
// The count of a step that failed is taken back with it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Notes that a step has counted these CPU tensors up by 1, and updated
/// `parameter`, a lazy tensor. Before the sync that ends it, or behind the run
/// that does it. Any thread.
LTC_API void noteStep(const at::Tensor &parameter,
                      std::vector<at::Tensor> counts, BufferPtr run = nullptr);

struct PendingList;
/// After a sync: a step has failed if the value of its parameter has.
void noteWitnesses(PendingList &list);

/// Called by raiseUndone() first, to take back what the program's language
/// holds of steps that failed.
using UndoHook = void (*)();
LTC_API void setUndoHook(UndoHook hook);

/// Raises an error that the caller has been given. What was queued has run
/// before, and steps that failed are not counted any more.
[[noreturn]] void raiseUndone(int64_t device, const Error &error);

} // namespace ltc::backend
