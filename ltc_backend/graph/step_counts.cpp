//===- graph/step_counts.cpp - What optimizers count on the host ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/step_counts.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// Finds the value that a step gave its parameter, once there is one. What it
/// returns is to be let go of without the list's lock.
static TensorDataPtr findWitness(PendingList::Step &step) {
  TensorDataPtr parameter;
  if (step.witness)
    return parameter;
  parameter = step.parameter.lock();
  if (!parameter)
    step.counts.clear();
  else if (parameter->handle)
    step.witness =
        std::static_pointer_cast<DeviceData>(parameter->handle)->buffer();
  return parameter;
}

static bool isOver(const PendingList::Step &step) {
  using namespace std::chrono_literals;
  return step.counts.empty() || (step.witness && step.witness->waitFor(0ms) &&
                                 !step.witness->failure());
}

void noteStep(const at::Tensor &parameter, std::vector<at::Tensor> counts,
              BufferPtr run) {
  TensorDataPtr data = tensorData(parameter);
  if (Tape *tape = Tape::current()) [[unlikely]]
    tape->counted.push_back({data, counts});
  PendingList &list = pendingList(deviceOf(*data));
  std::vector<PendingList::Step> over; // let go of without the lock
  std::lock_guard lock(list.mutex);
  auto kept = std::ranges::partition(list.steps, std::not_fn(isOver));
  std::ranges::move(kept, std::back_inserter(over));
  list.steps.erase(kept.begin(), kept.end());
  list.steps.push_back({data, std::move(counts), std::move(run)});
  findWitness(list.steps.back()); // `data` holds it too
}

void noteWitnesses(PendingList &list) {
  std::vector<TensorDataPtr> alive;
  std::lock_guard lock(list.mutex);
  for (PendingList::Step &step : list.steps)
    alive.push_back(findWitness(step));
}

static void takeBackCounts(PendingList &list) {
  // Another thread may be about to take back what this thread counted.
  static auto *oneAtATime = new std::mutex;
  std::unique_lock whole(*oneAtATime, std::defer_lock);
  {
    Waiting waiting;
    whole.lock();
  }
  std::vector<PendingList::Step> undone;
  {
    std::lock_guard lock(list.mutex);
    auto isUndone = [](const PendingList::Step &step) {
      return step.witness && step.witness->isUndone();
    };
    auto found = std::ranges::partition(list.steps, std::not_fn(isUndone));
    std::ranges::move(found, std::back_inserter(undone));
    list.steps.erase(found.begin(), found.end());
  }
  for (PendingList::Step &step : undone)
    for (at::Tensor &count : step.counts)
      count.sub_(1);
}

static std::atomic<UndoHook> undoHook{nullptr};

void setUndoHook(UndoHook hook) { undoHook = hook; }

void raiseUndone(int64_t device, const Error &error) {
  // Later steps in flight that start from this one fail, too.
  if (Result<MarkerPtr> end = engine(device).mark())
    waitFor(**end);
  at::NoGradGuard noGrad;
  takeBackCounts(pendingList(device));
  if (UndoHook hook = undoHook.load())
    hook();
  Error told = error;
  const std::string place = sourceOf(currentSource()).str();
  if (!place.empty() && place != told.source.str())
    told.message += "; met at " + place;
  raise(told);
}

} // namespace ltc::backend
