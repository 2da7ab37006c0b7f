//===- backend.cpp - The torch::lazy backend --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/backend.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/dry_run.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/graph/traced_graph.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/WrapDimUtils.h>
#include <torch/csrc/lazy/core/metrics.h>

namespace ltc::backend {

void finishDryRun() {
  raiseIfFailed(finishCompiling());
  raiseIfFailed(CompileWatch::check());
}

void markStep(int64_t device, bool wait) {
  SyncCause cause(profile::Cause::MarkStep, wait ? "and wait" : "");
  TORCH_LAZY_COUNTER("MarkStep", 1);
  forgetStep(device);
  sync(device, wait);
  if (wait)
    finishDryRun();
}

void autoStep(int64_t device, bool hasStepped) {
  if (!settings().auto_step)
    return;
  SyncCause cause(hasStepped ? profile::Cause::OptimizerStep
                             : profile::Cause::Parameters);
  markStep(device, /*wait=*/false);
}

void synchronize(int64_t device) {
  SyncCause cause(profile::Cause::Synchronize);
  syncAll(device, /*wait=*/false);
  finishDryRun();
  syncs::Timed timed(profile::Part::Wait);
  if (Status status = engine(device).synchronize(); !status)
    raiseUndone(device, status.error());
}

MarkerPtr recordEvent(int64_t device) {
  SyncCause cause(profile::Cause::Event);
  sync(device, /*wait=*/false);
  return valueOrRaise(engine(device).mark());
}

bool isIdle(int64_t device) { return engine(device).inFlight() == 0; }

void waitForEvent(Marker &marker) {
  SyncCause cause(profile::Cause::Event);
  waitFor(marker);
}

void markDim(const at::Tensor &tensor, int64_t dim, DimMark::Kind kind) {
  if (!isLazy(tensor))
    raise({ErrorCode::InvalidArgument,
           Stage::Record,
           "cannot mark a dimension of a tensor that is " +
               (tensor.defined() ? "on " + tensor.device().str()
                                 : std::string("undefined")) +
               "; wanted is a lazy one",
           "",
           {},
           "move it with .to('lazy') first"});
  auto wrapped = uint32_t(at::maybe_wrap_dim(dim, tensor.dim(), false));
  std::shared_ptr<DeviceData> data = readyData(tensor);
  std::lock_guard lock(pendingList(data->device().ordinal()).mutex);
  std::erase_if(data->marks,
                [&](const auto &mark) { return mark.first == wrapped; });
  data->marks.emplace_back(wrapped, kind);
}

std::string pendingGraphText(int64_t device) {
  PendingList &list = pendingList(device);
  Collection collection;
  std::lock_guard lock(list.mutex);
  collection = collectToLook(device, list);
  return collection.build().str();
}

std::string fallbackReason(const std::string &op, const std::string &overload) {
  return opInfo(op.c_str(), overload.c_str()).fallbackReason;
}

MemoryInfo memory(int64_t device) {
  MemoryStats stats = engine(device).memory();
  return {stats.allocated, stats.maxAllocated, stats.reserved};
}

void resetPeakMemory(int64_t device) { engine(device).resetPeakMemory(); }

} // namespace ltc::backend
