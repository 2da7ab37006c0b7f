//===- writes/step_end.cpp - Where an optimizer has stepped ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/step_end.h"

#include "ltc/settings.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

std::atomic<bool> watchesSteps{false};
std::atomic<int> steppingThreads{0};
/// A bit for each device whose parameters this thread has written to.
static thread_local uint64_t stepping = 0;

void watchSteps() { watchesSteps = true; }

static void setStepping(uint64_t devices) {
  steppingThreads += int(devices != 0) - int(stepping != 0);
  stepping = devices;
}

void noteUpdate(const at::Tensor &written) {
  bool isParameter = written.requires_grad()
                         ? written.is_leaf() && written.grad().defined()
                         : isDataOfUpdated(*written.unsafeGetTensorImpl());
  auto device = unsigned(written.device().index());
  if (isParameter && device < 64)
    setStepping(stepping | uint64_t(1) << device);
}

void endStep() {
  if (!stepping || !at::GradMode::is_enabled())
    return;
  uint64_t devices = stepping;
  setStepping(0);
  if (!settings().auto_step)
    return;
  SyncCause cause(profile::Cause::OptimizerStep);
  for (int64_t device = 0; devices; ++device, devices >>= 1)
    if (devices & 1)
      sync(device, /*wait=*/false);
}

void forgetStep(int64_t device) {
  if (stepping && device < 64)
    setStepping(stepping & ~(uint64_t(1) << device));
}

} // namespace ltc::backend
