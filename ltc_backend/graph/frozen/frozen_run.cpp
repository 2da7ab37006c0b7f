//===- frozen/frozen_run.cpp - One run of a frozen step -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/frozen_run.h"

#include "ltc/cpu_kernels.h"
#include "ltc/freelist.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"
#include "ltc_backend/torch_private.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

const at::Tensor &FrozenStep::Run::tensor(uint32_t slot) const {
  if (slot >= 2 * step.tensors)
    return tensor(uint32_t(slot - 2 * step.tensors));
  if (slot >= step.tensors)
    return tensor(uint32_t(slot - step.tensors)).grad();
  const auto &state = frozen.state.tensors;
  return slot < state.size() ? state[slot] : given.tensors[slot - state.size()];
}

const at::Tensor &FrozenStep::Run::host(uint32_t index) const {
  const auto &state = frozen.state.hosts;
  return index < state.size() ? state[index]
                              : given.hosts[index - state.size()];
}

/// Finds the tensors' data. False if gradients are there that were not, or the
/// other way round.
bool FrozenStep::Run::find() {
  for (uint32_t i = 0; i < step.tensors; ++i)
    if (tensor(i).grad().defined() != step.hadGradient[i])
      return false;
  auto lock = lockStorages();
  datas.reserve(frozen.uses.size());
  for (const Use &use : frozen.uses) {
    const at::Tensor &used = tensor(use.slot);
    const TensorDataPtr data =
        use.slot < 2 * step.tensors ? storageData(used) : viewData(used);
    if (!data)
      return false;
    datas.push_back(data.get());
    if (deviceOf(*datas.back()) != frozen.device)
      return false;
  }
  return true;
}

/// Computes what was recorded before the step.
void FrozenStep::Run::settle() {
  bool isPending;
  {
    std::lock_guard lock(list.mutex);
    isPending = list.firstNode != nullptr;
  }
  if (!isPending)
    return;
  std::vector<TensorDataPtr> wanted;
  for (TensorData *data : datas)
    wanted.push_back(data->shared_from_this());
  sync(frozen.device, /*wait=*/false, wanted);
}

bool isLastOwner(const TensorData &tensor) {
  const auto &data = static_cast<const DeviceData &>(*tensor.handle);
  long shares = 1;
  if (tensor.ir_value.node) {
    if (tensor.ir_value.node.use_count() != 1)
      return false;
    ++shares; // the leaf's
  }
  const DeviceData &first = data.first ? *data.first : data;
  return !first.mayComeBack && tensor.handle.use_count() == shares &&
         (!data.first || data.first.use_count() == 1);
}

static double countOf(const at::Tensor &steps) {
  return steps.scalar_type() == at::kFloat && steps.numel() == 1
             ? double(*steps.const_data_ptr<float>())
             : hostValue(steps);
}

bool FrozenStep::Run::leavesFit() const {
  for (const Launch &launch : step.launches)
    for (const StepValue &value : launch.arguments)
      if (value.kind == StepValue::Leaf)
        for (uint32_t leaf : value.slots)
          if (given.leaves[leaf] != given.leaves[value.index])
            return false;
  // Which of the counts that were equal a number follows is not known either.
  for (size_t i = 0; i < frozen.counted.size(); ++i)
    if (uint32_t first = frozen.firstLike[i];
        first != i && countOf(host(frozen.counted[i])) !=
                          countOf(host(frozen.counted[first])))
      return false;
  return true;
}

bool FrozenStep::Run::fits() const {
  if (!leavesFit())
    return false;
  for (size_t i = 0; i < datas.size(); ++i) {
    const Use &use = frozen.uses[i];
    if (!datas[i]->handle)
      return false;
    const auto &data = static_cast<const DeviceData &>(*datas[i]->handle);
    if ((use.type && data.buffer()->type() != *use.type) ||
        (use.isDonated && !isLastOwner(*datas[i])))
      return false;
  }
  // Tensors that had one value have one still, or it is not known which is
  // read.
  for (const StepRecording::Launch &launch : step.launches)
    for (const StepValue &value : launch.arguments)
      for (size_t i = 1;
           value.kind == StepValue::Slot && i < value.slots.size(); ++i)
        if (datas[frozen.useOf[value.slots[i]]]->handle !=
            datas[frozen.useOf[value.slots[0]]]->handle)
          return false;
  return true;
}

void FrozenStep::Run::take() {
  buffers.reserve(datas.size());
  for (const TensorData *data : datas)
    buffers.push_back(static_cast<const DeviceData &>(*data->handle).buffer());
  starts.resize(datas.size());
  auto keep = [&](const StepValue &value) {
    if (value.kind == StepValue::Slot)
      starts[frozen.useOf[value.slots[0]]] =
          std::static_pointer_cast<DeviceData>(
              datas[frozen.useOf[value.slots[0]]]->handle);
  };
  for (const auto &[slot, value] : step.copies)
    keep(value);
  for (const StepRecording::Gradient &gradient : step.gradients)
    if (gradient.fresh)
      keep(gradient.fresh->value);
  for (const StepRecording::Fresh &result : step.results)
    keep(result.value);
}

void FrozenStep::Run::count(int by) {
  for (uint32_t index : frozen.counted) {
    const at::Tensor &steps = host(index);
    if (steps.scalar_type() == at::kFloat && steps.numel() == 1) {
      *steps.mutable_data_ptr<float>() += float(by);
      steps.unsafeGetTensorImpl()->bump_version();
    } else {
      steps.add_(by);
    }
  }
}

FrozenStep::Run::DataPtr FrozenStep::Run::value(const StepValue &value) {
  switch (value.kind) {
  case StepValue::Slot:
    return starts[frozen.useOf[value.slots[0]]];
  case StepValue::Result:
    return made[value.index][value.result].data;
  case StepValue::Host: {
    uploads.resize(frozen.state.hosts.size() + given.hosts.size());
    DataPtr &data = uploads[value.index];
    if (!data)
      data = upload(host(value.index), frozen.device);
    return data;
  }
  default:
    return upload(value.constant, frozen.device);
  }
}

LaunchArgument FrozenStep::Run::argument(const StepValue &from) {
  LaunchArgument argument;
  switch (from.kind) {
  case StepValue::Number:
    argument.integer = int64_t(from.bits);
    break;
  case StepValue::Seed:
    argument.integer = int64_t(seeds[from.index]);
    break;
  case StepValue::Count:
    argument.real = countOf(host(from.index));
    break;
  case StepValue::Leaf:
    argument.real =
        from.isNegative ? -given.leaves[from.index] : given.leaves[from.index];
    break;
  case StepValue::Slot:
    argument.buffer = buffers[frozen.useOf[from.slots[0]]];
    break;
  default:
    argument.buffer = value(from)->buffer();
  }
  return argument;
}

std::shared_ptr<Replaced>
FrozenStep::Run::replacedBy(const Launch &launch,
                            const std::vector<uint32_t> &effects) {
  auto replaced = std::make_shared<Replaced>();
  replaced->values.reserve(effects.size());
  std::lock_guard lock(list.mutex);
  for (uint32_t effect : effects)
    replaced->values.push_back(std::static_pointer_cast<DeviceData>(
        datas[frozen.useOf[launch.effects[effect].slot]]->handle));
  return replaced;
}

/// The executable, as a sync finds it.
static ExecutablePtr executableOf(Engine &target,
                                  const StepRecording::Launch &launch) {
  if (ExecutablePtr known = target.lookup(launch.key))
    return known;
  return valueOrRaise(target.compile(*launch.graph));
}

void FrozenStep::Run::drawSeeds() {
  for (const auto &generator : step.draws)
    seeds.push_back(drawSeed(generator));
}

FrozenStep::Run::DataPtr
FrozenStep::Run::dataOf(const Launch &launch, uint32_t result, BufferPtr buffer,
                        const std::shared_ptr<Replaced> &replaced) const {
  auto data = std::allocate_shared<DeviceData>(
      Freelist<DeviceData>(), frozen.device, launch.shapes[result],
      std::move(buffer));
  data->replaced = replaced;
  return data;
}

std::vector<BufferPtr>
FrozenStep::Run::launch(const Launch &launch, const ExecutablePtr &executable,
                        std::vector<LaunchArgument> arguments,
                        const std::shared_ptr<Replaced> &replaced) {
  // Where every call meets something that has changed, only now and then.
  constexpr uint32_t kTries = 4, kPause = 16;
  Engine &target = engine(frozen.device);
  const Plan &plan = frozen.plan;
  const uint32_t unrepeated = frozen.unrepeated++;
  if (plan.isPossible && (unrepeated < kTries || unrepeated % kPause == 0))
    if (auto made = prepare(target, executable, plan.renewals, plan.varies))
      prepared = std::move(*made);
  if (!prepared)
    return valueOrRaise(
        target.launch(executable, std::move(arguments), replaced));
  PreparedRun run = valueOrRaise(
      ltc::launch(target, prepared, std::move(arguments), replaced));
  whole = std::move(run.whole);
  std::vector<BufferPtr> results;
  results.reserve(plan.renewals.size());
  size_t fresh = 0;
  for (size_t i = 0; i < plan.renewals.size(); ++i)
    results.push_back(plan.renewals[i] == Renewal::Fresh
                          ? std::move(run.fresh[fresh++])
                          : prepared->result(i));
  return results;
}

void FrozenStep::Run::launchAll() {
  Engine &target = engine(frozen.device);
  drawSeeds();
  for (size_t l = 0; l < step.launches.size(); ++l) {
    const Launch &launch = step.launches[l];
    ExecutablePtr executable = executableOf(target, launch);
    std::vector<LaunchArgument> arguments;
    arguments.reserve(launch.arguments.size());
    for (const StepValue &value : launch.arguments)
      arguments.push_back(argument(value));
    std::shared_ptr<Replaced> replaced = replacedBy(launch, frozen.effects[l]);
    kernels::noteThreadCount();
    kernels::releaseThreads();
    if (profile::isOn()) [[unlikely]]
      profile::nameRun(launch.key, launch.graph->nodes.size(),
                       launch.graph->inputs.size(),
                       launch.graph->outputs.size());
    syncs::countGraph();
    std::vector<BufferPtr> results =
        this->launch(launch, executable, std::move(arguments), replaced);
    std::vector<Made> &row = made.emplace_back();
    row.reserve(results.size());
    for (uint32_t i = 0; i < results.size(); ++i)
      row.push_back({dataOf(launch, i, std::move(results[i]), replaced)});
    deliver(l, frozen.effects[l], replaced);
  }
}

void FrozenStep::Run::give(TensorData &tensor, DataPtr data) {
  dropped.push_back(std::static_pointer_cast<DeviceData>(
      std::exchange(tensor.handle, std::move(data))));
  if (tensor.ir_value.node)
    std::swap(released.emplace_back(), tensor.ir_value);
  ++tensor.generation;
}

void FrozenStep::Run::deliver(size_t number,
                              const std::vector<uint32_t> &effects,
                              const std::shared_ptr<Replaced> &replaced) {
  if (effects.empty())
    return;
  const Launch &launch = step.launches[number];
  std::vector<bool> isDonated(frozen.uses.size());
  for (const GraphOutput &output : launch.graph->outputs)
    if (output.donated)
      if (const StepValue &from = launch.arguments[*output.donated];
          from.kind == StepValue::Slot)
        isDonated[frozen.useOf[from.slots[0]]] = true;
  std::lock_guard lock(list.mutex);
  for (uint32_t i = 0; i < effects.size(); ++i) {
    const StepRecording::Effect &effect = launch.effects[effects[i]];
    Made &result = made[number][effect.result];
    DataPtr data = result.data;
    if (std::exchange(result.isGiven, true)) {
      data = sharing(data);
      data->replaced = replaced;
    }
    data->place = i;
    if (!isDonated[frozen.useOf[effect.slot]])
      firstOf(replaced->values[i])->mayComeBack = true;
    give(*datas[frozen.useOf[effect.slot]], std::move(data));
  }
}

FrozenStep::Run::DataPtr
FrozenStep::Run::own(const StepRecording::Fresh &fresh) {
  DataPtr data = value(fresh.value);
  if (fresh.value.kind == StepValue::Result &&
      made[fresh.value.index][fresh.value.result].isGiven) {
    std::lock_guard lock(list.mutex);
    data = sharing(data);
  }
  return data;
}

at::Tensor FrozenStep::Run::make(const StepRecording::Fresh &fresh) {
  return wrap(makeTensor(own(fresh), frozen.device, fresh.layout));
}

bool isLikeNew(const at::Tensor &gradient, const StepRecording::Fresh &fresh) {
  const c10::TensorImpl &impl = *gradient.unsafeGetTensorImpl();
  if (gradient.use_count() != 1 || gradient.weak_use_count() != 1 ||
      impl.autograd_meta() || !isFunctionalLazy(gradient) ||
      gradient.is_inference() || impl.version_counter().current_version() != 0)
    return false;
  at::IntArrayRef sizes = fresh.shape.sizes(), strides = fresh.layout.strides;
  return gradient.scalar_type() == fresh.shape.scalar_type() &&
         gradient.sizes() == sizes &&
         (strides.empty() ? isRowMajor(sizes, gradient.strides())
                          : gradient.strides() == strides) &&
         gradient.storage_offset() == fresh.layout.offset;
}

bool FrozenStep::Run::refill(const at::Tensor &gradient,
                             const StepRecording::Fresh &fresh) {
  if (!gradient.defined() || !isWrappedHere() || !isLikeNew(gradient, fresh))
    return false;
  TensorData *tensor = ownData(gradient);
  if (!tensor)
    return false;
  DataPtr data = own(fresh);
  std::lock_guard lock(list.mutex);
  if (tensor->pending || !tensor->handle)
    return false;
  give(*tensor, std::move(data));
  return true;
}

/// Counts a write, and has other tensors of the memory look for it.
void FrozenStep::Run::tellWritten(uint32_t slot) {
  const at::Tensor &written = tensor(slot);
  if (!written.is_inference())
    written.unsafeGetTensorImpl()->bump_version();
  if (!isFunctionalLazy(written) || isAlone(written))
    return;
  noteWrite(written);
  uint32_t view = frozen.useOf[slot + 2 * step.tensors];
  if (view != UINT32_MAX && frozen.uses[view].isWritten) {
    // It has its own new value.
    auto *wrapper =
        at::functionalization::impl::unsafeGetFunctionalWrapper(written);
    std::atomic_ref(generationOf(*wrapper))
        .store(std::atomic_ref(generationOf(storageOf(*wrapper))).load());
  }
}

/// What is to be done without the list's lock.
void FrozenStep::Run::finish() {
  for (const auto &[slot, from] : step.copies) {
    DataPtr data = value(from);
    std::lock_guard lock(list.mutex);
    give(*datas[frozen.useOf[slot]], sharing(data));
  }
  {
    auto lock = lockStorages();
    for (const Use &use : frozen.uses)
      if (use.isWritten && use.slot < 2 * step.tensors)
        tellWritten(use.slot);
  }
  for (const StepRecording::Gradient &gradient : step.gradients)
    setGradient(gradient);
  for (const StepRecording::Counted &counted : step.counted)
    noteStep(tensor(counted.parameter), counted.counts, whole);
}

void FrozenStep::Run::setGradient(const StepRecording::Gradient &gradient) {
  const at::Tensor &parameter = tensor(gradient.tensor);
  if (!gradient.fresh)
    parameter.mutable_grad() = at::Tensor();
  else if (!refill(parameter.grad(), *gradient.fresh))
    parameter.mutable_grad() = make(*gradient.fresh);
}

std::vector<at::Tensor> FrozenStep::Run::results() {
  std::vector<at::Tensor> tensors;
  for (const StepRecording::Fresh &result : step.results)
    tensors.push_back(make(result));
  return tensors;
}

std::optional<std::vector<at::Tensor>> FrozenStep::Run::run() {
  if (!find())
    return std::nullopt;
  SyncCause cause(profile::Cause::MarkStep, "frozen");
  profile::Timed timed(profile::Part::Graph);
  settle();
  {
    std::unique_lock oneAtATime(syncMutex(frozen.device), std::defer_lock);
    {
      Waiting waiting;
      oneAtATime.lock();
    }
    {
      std::lock_guard lock(list.mutex);
      if (anyFailure.load(std::memory_order_relaxed)) [[unlikely]]
        for (TensorData *data : datas)
          if (!data->pending)
            backend::valueOf(*data);
      if (!fits())
        return std::nullopt;
      take();
    }
    count(1);
    try {
      launchAll();
    } catch (...) {
      count(-1);
      throw;
    }
  }
  finish();
  std::vector<at::Tensor> tensors = results();
  if (prepared)
    remember();
  return tensors;
}

std::optional<std::vector<at::Tensor>>
FrozenStep::run(const Given &given) const {
  if (&settings() != under && settings() != *under)
    return std::nullopt;
  at::NoGradGuard noGrad;
  if (auto results = Run(*this, given).runAgain())
    return results;
  return Run(*this, given).run();
}

} // namespace ltc::backend
