//===- writes/step_end.h - Where an optimizer has stepped -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libtorch's optimizers have no hooks. A step of theirs, or one that a program
// writes by hand, writes to parameters that have gradients, where nothing is
// recorded for autograd. It is over when the thread records for autograd again:
// that call belongs to the next step. Its gradients may be gone by then, which
// makes them no results of the graph.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <atomic>

namespace ltc::backend {

/// From now on such a step ends its graph, unless the setting auto_step is off.
/// Python has hooks, and does without.
LTC_API void watchSteps();
extern std::atomic<bool> watchesSteps;

void noteUpdate(const at::Tensor &written);
/// The program writes to this tensor.
inline void noteWriteOfStep(const at::Tensor &written) {
  if (watchesSteps.load(std::memory_order_relaxed) &&
      !at::GradMode::is_enabled()) [[unlikely]]
    noteUpdate(written);
}

extern std::atomic<int> steppingThreads;
void endStep();
/// Before a call is recorded, and without locks: ends the step before it.
inline void endStepBefore() {
  if (steppingThreads.load(std::memory_order_relaxed)) [[unlikely]]
    endStep();
}

/// The thread has ended its step otherwise.
void forgetStep(int64_t device);

} // namespace ltc::backend
