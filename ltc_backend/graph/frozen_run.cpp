//===- graph/frozen_run.cpp - One run of a frozen step --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen_step.h"

#include "ltc/cpu_kernels.h"
#include "ltc/freelist.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
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

class FrozenStep::Run {
public:
  Run(const FrozenStep &frozen, const Given &given)
      : frozen(frozen), step(frozen.step), given(given),
        list(pendingList(frozen.device)) {}

  std::optional<std::vector<at::Tensor>> run();

private:
  using DataPtr = std::shared_ptr<DeviceData>;

  const at::Tensor &tensor(uint32_t slot) const;
  const at::Tensor &host(uint32_t index) const;
  bool find();
  void settle();
  /// Whether all is as the recordings had it. With the list's lock, as take().
  bool fits() const;
  void take();
  void count(int by);
  LaunchArgument argument(const StepValue &value);
  DataPtr value(const StepValue &value);
  std::shared_ptr<Replaced> replacedBy(const StepRecording::Launch &launch);
  void launchAll();
  void deliver(size_t launch, const std::shared_ptr<Replaced> &replaced);
  void give(TensorData &tensor, DataPtr data);
  void tellWritten(uint32_t slot);
  void finish();
  DataPtr own(const StepRecording::Fresh &fresh);
  at::Tensor make(const StepRecording::Fresh &fresh);
  /// Gives the gradient of the step before this one's value, where that is as
  /// good as a new tensor.
  bool refill(const at::Tensor &gradient, const StepRecording::Fresh &fresh);

  const FrozenStep &frozen;
  const StepRecording &step;
  const Given &given;
  PendingList &list;
  std::vector<TensorData *> datas; ///< by use
  std::vector<DataPtr> starts;     ///< by use, of what no launch is given
  std::vector<BufferPtr> buffers;  ///< by use
  std::vector<uint64_t> seeds;
  std::vector<DataPtr> uploads; ///< by host
  struct Made {
    DataPtr data;
    bool isGiven = false;
  };
  std::vector<std::vector<Made>> made; ///< by launch and result
  std::vector<torch::lazy::Value> released;
  std::vector<DataPtr> dropped;
};

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

/// Whether nobody else can reach what the tensor has, as the collector has it.
static bool isLastOwner(const TensorData &tensor) {
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

bool FrozenStep::Run::fits() const {
  for (const StepRecording::Launch &launch : step.launches)
    for (const StepValue &value : launch.arguments)
      if (value.kind == StepValue::Leaf)
        for (uint32_t leaf : value.slots)
          if (given.leaves[leaf] != given.leaves[value.index])
            return false;
  for (size_t i = 0; i < datas.size(); ++i) {
    const Use &use = frozen.uses[i];
    if (!datas[i]->handle)
      return false;
    const auto &data = static_cast<const DeviceData &>(*datas[i]->handle);
    if ((use.type && data.buffer->type() != *use.type) ||
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
    buffers.push_back(static_cast<const DeviceData &>(*data->handle).buffer);
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
    argument.real = hostValue(host(from.index));
    break;
  case StepValue::Leaf:
    argument.real =
        from.isNegative ? -given.leaves[from.index] : given.leaves[from.index];
    break;
  case StepValue::Slot:
    argument.buffer = buffers[frozen.useOf[from.slots[0]]];
    break;
  default:
    argument.buffer = value(from)->buffer;
  }
  return argument;
}

std::shared_ptr<Replaced>
FrozenStep::Run::replacedBy(const StepRecording::Launch &launch) {
  auto replaced = std::make_shared<Replaced>();
  replaced->values.reserve(launch.effects.size());
  std::lock_guard lock(list.mutex);
  for (const StepRecording::Effect &effect : launch.effects)
    replaced->values.push_back(std::static_pointer_cast<DeviceData>(
        datas[frozen.useOf[effect.slot]]->handle));
  return replaced;
}

/// The executable, as a sync finds it.
static ExecutablePtr executableOf(Engine &target,
                                  const StepRecording::Launch &launch) {
  if (ExecutablePtr known = target.lookup(launch.key))
    return known;
  return valueOrRaise(target.compile(*launch.graph));
}

void FrozenStep::Run::launchAll() {
  Engine &target = engine(frozen.device);
  for (const auto &generator : step.draws)
    seeds.push_back(drawSeed(generator));
  for (size_t l = 0; l < step.launches.size(); ++l) {
    const StepRecording::Launch &launch = step.launches[l];
    ExecutablePtr executable = executableOf(target, launch);
    std::vector<LaunchArgument> arguments;
    arguments.reserve(launch.arguments.size());
    for (const StepValue &value : launch.arguments)
      arguments.push_back(argument(value));
    std::shared_ptr<Replaced> replaced = replacedBy(launch);
    kernels::noteThreadCount();
    kernels::releaseThreads();
    if (profile::isOn()) [[unlikely]]
      profile::nameRun(launch.key, launch.graph->nodes.size(),
                       launch.graph->inputs.size(),
                       launch.graph->outputs.size());
    syncs::countGraph();
    auto results =
        valueOrRaise(target.launch(executable, std::move(arguments), replaced));
    std::vector<Made> &row = made.emplace_back();
    row.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      row.push_back({std::allocate_shared<DeviceData>(
          Freelist<DeviceData>(), frozen.device, launch.shapes[i],
          std::move(results[i]))});
      row.back().data->replaced = replaced;
    }
    deliver(l, replaced);
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
                              const std::shared_ptr<Replaced> &replaced) {
  const StepRecording::Launch &launch = step.launches[number];
  std::vector<bool> isDonated(frozen.uses.size());
  for (const GraphOutput &output : launch.graph->outputs)
    if (output.donated)
      if (const StepValue &from = launch.arguments[*output.donated];
          from.kind == StepValue::Slot)
        isDonated[frozen.useOf[from.slots[0]]] = true;
  std::lock_guard lock(list.mutex);
  for (uint32_t i = 0; i < launch.effects.size(); ++i) {
    const StepRecording::Effect &effect = launch.effects[i];
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

/// Whether nobody can tell the gradient from a new tensor: it is as one, and
/// only the parameter has it.
static bool isLikeNew(const at::Tensor &gradient,
                      const StepRecording::Fresh &fresh) {
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
  for (const StepRecording::Gradient &gradient : step.gradients) {
    const at::Tensor &parameter = tensor(gradient.tensor);
    if (!gradient.fresh)
      parameter.mutable_grad() = at::Tensor();
    else if (!refill(parameter.grad(), *gradient.fresh))
      parameter.mutable_grad() = make(*gradient.fresh);
  }
  for (const StepRecording::Counted &counted : step.counted)
    noteStep(tensor(counted.parameter), counted.counts);
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
  std::vector<at::Tensor> results;
  for (const StepRecording::Fresh &result : step.results)
    results.push_back(make(result));
  return results;
}

std::optional<std::vector<at::Tensor>>
FrozenStep::run(const Given &given) const {
  if (&settings() != under && settings() != *under)
    return std::nullopt;
  at::NoGradGuard noGrad;
  return Run(*this, given).run();
}

} // namespace ltc::backend
