//===- frozen/prepared_run.cpp - A frozen step's launch, repeated ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two calls of a loop nobody touches weights, an optimizer's state and
// gradients. Then their buffers stay the same objects, in whose memory the
// launch replaces the values (ltc/prepared_launch.h), and so does the data of
// the tensors: nothing is made or let go of for a parameter. That nobody has
// touched them is looked at: each tensor has the data that was left there, and
// nobody else has it.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/frozen_run.h"

#include "ltc/cpu_kernels.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static bool hasGradient(const at::Tensor &tensor) {
  return tensor.unsafeGetTensorImpl()->autograd_meta() &&
         tensor.grad().defined();
}

/// The data of a functional tensor's storage; null for other tensors. With the
/// lock of lockStorages().
static TensorData *baseData(const at::Tensor &tensor) {
  if (!isFunctionalLazy(tensor))
    return nullptr;
  const at::Tensor &base = materialisedBase(storageOf(tensor));
  torch::lazy::LTCTensorImpl *impl = bareImpl(*base.unsafeGetTensorImpl());
  return impl ? static_cast<TensorData *>(sharedData(*impl).get()) : nullptr;
}

bool FrozenStep::Run::findKept(const Kept &kept) {
  const Plan &plan = frozen.plan;
  for (uint32_t i : plan.apart)
    if (hasGradient(tensor(i)) != step.hadGradient[i])
      return false;
  auto lock = lockStorages();
  written.reserve(kept.updated.size());
  for (const Plan::Stay &stay : plan.updated) {
    const at::Tensor &updated = tensor(stay.slot);
    if (!updated.defined() || !isFunctionalLazy(updated) || !isAlone(updated))
      return false;
    written.push_back(baseData(updated));
    if (!written.back())
      return false;
  }
  for (uint32_t slot : plan.read) {
    const at::Tensor &tensor = this->tensor(slot);
    read.push_back(tensor.defined() ? baseData(tensor) : nullptr);
    if (!read.back())
      return false;
  }
  for (uint32_t i : plan.remade) {
    const StepRecording::Gradient &gradient = step.gradients[i];
    const at::Tensor &now = tensor(gradient.tensor).grad();
    if (!now.defined() || !isLikeNew(now, *gradient.fresh))
      return false;
    remade.push_back(ownData(now));
    if (!remade.back())
      return false;
  }
  return true;
}

/// Whether the tensor has what was left there. That the launch holds the buffer
/// says that the data is no later one in the same place.
static bool has(const TensorData &tensor, const DeviceData *data,
                const Buffer *buffer) {
  return tensor.handle.get() == data && data->buffer().get() == buffer;
}

bool FrozenStep::Run::isKept(const Kept &kept) const {
  for (size_t i = 0; i < written.size(); ++i)
    if (!has(*written[i], kept.updated[i].data, kept.updated[i].buffer) ||
        written[i]->pending || !isLastOwner(*written[i]))
      return false;
  for (size_t i = 0; i < read.size(); ++i)
    if (!has(*read[i], kept.read[i].data, kept.read[i].buffer))
      return false;
  for (size_t i = 0; i < remade.size(); ++i)
    if (!has(*remade[i], kept.remade[i].data, kept.remade[i].buffer) ||
        remade[i]->pending || !isLastOwner(*remade[i]))
      return false;
  return true;
}

void FrozenStep::Run::remember() {
  const Plan &plan = frozen.plan;
  auto kept = std::make_shared<Kept>();
  kept->launch = std::move(prepared);
  {
    auto lock = lockStorages();
    for (uint32_t i : plan.remade) {
      const at::Tensor &now = tensor(step.gradients[i].tensor).grad();
      TensorData *data =
          now.defined() && isFunctionalLazy(now) ? ownData(now) : nullptr;
      if (!data)
        return;
      remade.push_back(data);
    }
  }
  auto valueNow = [](const TensorData &tensor) {
    auto *data = static_cast<const DeviceData *>(tensor.handle.get());
    return Kept::Value{data, data ? data->buffer().get() : nullptr};
  };
  std::lock_guard lock(list.mutex);
  for (const Plan::Stay &stay : plan.updated)
    kept->updated.push_back(valueNow(*datas[frozen.useOf[stay.slot]]));
  for (uint32_t slot : plan.read)
    kept->read.push_back(valueNow(*datas[frozen.useOf[slot]]));
  for (TensorData *data : remade)
    kept->remade.push_back(valueNow(*data));
  frozen.keep(std::move(kept));
}

bool FrozenStep::Run::findOthers() {
  std::vector<TensorDataPtr> wanted;
  datas.resize(frozen.uses.size());
  buffers.resize(frozen.uses.size());
  for (uint32_t slot : frozen.plan.slots) {
    const at::Tensor &given = tensor(slot);
    wanted.push_back(given.defined() ? storageData(given) : nullptr);
    if (!wanted.back() || deviceOf(*wanted.back()) != frozen.device)
      return false;
    datas[frozen.useOf[slot]] = wanted.back().get();
  }
  bool isPending;
  {
    std::lock_guard lock(list.mutex);
    isPending = list.firstNode != nullptr;
  }
  if (isPending)
    sync(frozen.device, /*wait=*/false, wanted);
  return true;
}

bool FrozenStep::Run::takeOthers() {
  for (uint32_t slot : frozen.plan.slots) {
    const uint32_t number = frozen.useOf[slot];
    const Use &use = frozen.uses[number];
    TensorData &tensor = *datas[number];
    if (anyFailure.load(std::memory_order_relaxed) && !tensor.pending)
        [[unlikely]]
      backend::valueOf(tensor);
    if (!tensor.handle)
      return false;
    auto &data = static_cast<const DeviceData &>(*tensor.handle);
    if ((use.type && data.buffer()->type() != *use.type) ||
        (use.isDonated && !isLastOwner(tensor)))
      return false;
    buffers[number] = data.buffer();
  }
  return true;
}

void FrozenStep::Run::launchAgain(const Kept &kept) {
  const Launch &launch = step.launches[0];
  const Plan &plan = frozen.plan;
  drawSeeds();
  std::vector<LaunchArgument> arguments;
  arguments.reserve(plan.inputs.size());
  for (uint32_t input : plan.inputs)
    arguments.push_back(argument(launch.arguments[input]));
  std::shared_ptr<Replaced> replaced = replacedBy(launch, plan.effects);
  kernels::noteThreadCount();
  kernels::releaseThreads();
  syncs::countGraph();
  PreparedRun run = valueOrRaise(ltc::launch(engine(frozen.device), kept.launch,
                                             std::move(arguments), replaced));
  whole = std::move(run.whole);
  std::vector<Made> &row = made.emplace_back(plan.renewals.size());
  for (size_t i = 0; i < plan.fresh.size(); ++i)
    row[plan.fresh[i]].data =
        dataOf(launch, plan.fresh[i], std::move(run.fresh[i]), replaced);
  deliver(0, plan.effects, replaced);
}

void FrozenStep::Run::finishAgain() {
  for (const Plan::Stay &stay : frozen.plan.updated) {
    const at::Tensor &updated = tensor(stay.slot);
    if (!updated.is_inference())
      updated.unsafeGetTensorImpl()->bump_version();
  }
  {
    auto lock = lockStorages();
    for (uint32_t effect : frozen.plan.effects)
      tellWritten(step.launches[0].effects[effect].slot);
  }
  for (uint32_t other : frozen.plan.others)
    setGradient(step.gradients[other]);
  for (const StepRecording::Counted &counted : step.counted)
    noteStep(tensor(counted.parameter), counted.counts, whole);
}

std::optional<std::vector<at::Tensor>> FrozenStep::Run::runAgain() {
  const std::shared_ptr<const Kept> kept = frozen.kept();
  // What records or measures this wants to see buffers and a graph.
  if (!kept || kept->launch->hasFailed() || Tape::current() ||
      profile::isOn() || !leavesFit() || !findKept(*kept))
    return std::nullopt;
  SyncCause cause(profile::Cause::MarkStep, "frozen");
  if (!findOthers())
    return std::nullopt;
  {
    std::unique_lock oneAtATime(syncMutex(frozen.device), std::defer_lock);
    {
      Waiting waiting;
      oneAtATime.lock();
    }
    {
      std::lock_guard lock(list.mutex);
      if (!isKept(*kept) || !takeOthers())
        return std::nullopt;
    }
    ExecutablePtr executable =
        engine(frozen.device).lookup(step.launches[0].key);
    if (!executable || executable.get() != kept->launch->executable() ||
        kept->launch->hasFailed())
      return std::nullopt;
    frozen.unrepeated = 0;
    count(1);
    try {
      launchAgain(*kept);
    } catch (...) {
      count(-1);
      throw;
    }
  }
  finishAgain();
  return results();
}

} // namespace ltc::backend
