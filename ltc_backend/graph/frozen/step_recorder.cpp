//===- frozen/step_recorder.cpp - What one call of a step did -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/step_recorder.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/ATen.h>

#include <map>
#include <set>

namespace ltc::backend {

TensorDataPtr storageData(const at::Tensor &tensor) {
  if (!isFunctionalLazy(tensor))
    return tensorData(tensor);
  auto lock = lockStorages();
  return bareData(materialisedBase(storageOf(tensor)));
}

TensorDataPtr viewData(const at::Tensor &tensor) {
  if (!tensor.defined() || !isFunctionalLazy(tensor) ||
      at::functionalization::impl::isBaseTensor(tensor))
    return nullptr;
  auto lock = lockStorages();
  auto *wrapper =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor);
  if (isNotTaken(*wrapper))
    return nullptr;
  materialise(*wrapper);
  return bareData(wrapper->value());
}

double hostValue(const at::Tensor &host) {
  return host.numel() == 1 && !host.is_complex()
             ? host.item().toDouble()
             : std::numeric_limits<double>::quiet_NaN();
}

/// Computes what is pending of the thread, and of these.
static void settle(const std::vector<TensorDataPtr> &datas) {
  SyncCause cause(profile::Cause::MarkStep);
  std::set<int64_t> devices;
  for (const TensorDataPtr &data : datas)
    devices.insert(deviceOf(*data));
  for (int64_t device : devices)
    sync(device, /*wait=*/false, datas);
}

template <typename T>
static bool isSame(const std::weak_ptr<T> &a, const std::weak_ptr<T> &b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

static Tape::Identity valueOf(const TensorDataPtr &data) {
  std::shared_ptr<DeviceData> now = deviceData(*data);
  return now ? now->buffer() : nullptr;
}

StepRecorder::StepRecorder(std::vector<at::Tensor> given,
                           std::vector<at::Tensor> onHost,
                           std::vector<double> leaves)
    : tensors(std::move(given)), hosts(std::move(onHost)),
      made(std::make_shared<StepRecording>()) {
  made->tensors = tensors.size();
  made->leaves = std::move(leaves);
  std::vector<TensorDataPtr> all;
  for (const at::Tensor &tensor : tensors)
    all.push_back(storageData(tensor));
  for (const at::Tensor &tensor : tensors) {
    const at::Tensor &gradient = tensor.grad();
    made->hadGradient.push_back(gradient.defined());
    gradients.emplace_back(gradient.getIntrusivePtr());
    all.push_back(gradient.defined() ? storageData(gradient) : nullptr);
  }
  for (const at::Tensor &tensor : tensors)
    all.push_back(viewData(tensor));
  for (const at::Tensor &tensor : tensors)
    all.push_back(viewData(tensor.grad()));
  datas.assign(all.begin(), all.end());
  std::erase(all, nullptr);
  settle(all);
  all.clear();
  for (const auto &data : datas) {
    TensorDataPtr alive = data.lock();
    values.push_back(alive ? valueOf(alive) : Tape::Identity());
  }
  for (const at::Tensor &host : hosts)
    made->before.push_back(hostValue(host));
}

// Not in the header: another library would have a thread's tape of its own.
void StepRecorder::enter() {
  tape.beforeLaunch = [this] { materialiseGradients(); };
  tape.begin();
}

void StepRecorder::leave() { tape.end(); }

StepRecorder::~StepRecorder() = default;

namespace {
StepValue resultOf(uint32_t launch, uint32_t result) {
  StepValue value;
  value.kind = StepValue::Result;
  value.index = launch;
  value.result = result;
  return value;
}

/// Looks up what the tape names, in the order in which it was done.
class Reader {
public:
  Reader(StepRecording &made, const Tape &tape,
         const std::vector<at::Tensor> &hosts)
      : made(made), tape(tape), hosts(hosts) {
    for (uint32_t i = 0; i < tape.draws.size(); ++i)
      seeds.emplace(tape.draws[i].seed, i);
  }

  void addSlots(const std::vector<std::weak_ptr<TensorData>> &datas,
                const std::vector<Tape::Identity> &values);
  void addLaunch(const Tape::Launch &launch);
  void addWaits();
  void obstruct(std::string what, SourceId place = 0) {
    if (!made.obstacle)
      made.obstacle = {std::move(what), place};
  }
  /// What a buffer is.
  StepValue find(const Tape::Identity &buffer) const {
    auto known = buffers.find(buffer);
    return known == buffers.end() ? StepValue() : known->second;
  }
  std::optional<uint32_t> slotOf(const std::weak_ptr<TensorData> &data) const {
    auto slot = slots.find(data);
    return slot == slots.end() ? std::nullopt : std::optional(slot->second);
  }
  /// Notes whose data is accounted for.
  void account(const at::Tensor &tensor) {
    accounted.insert(storageData(tensor));
    accounted.insert(tensorData(tensor));
  }
  /// A tensor that got a value, is none of the accounted and lives on.
  void addStrays();
  StepRecording::Fresh fresh(const at::Tensor &tensor);

  /// What a slot holds in the end, where no launch of the step puts it there.
  void addCopies(const std::vector<at::Tensor> &tensors,
                 const std::vector<std::weak_ptr<TensorData>> &datas,
                 const std::vector<Tape::Identity> &values) {
    for (uint32_t i = 0; i < datas.size(); ++i) {
      TensorDataPtr data = datas[i].lock();
      if (i < tensors.size() && storageData(tensors[i]) != data)
        obstruct("gives a tensor of " + c10::str(tensors[i].sizes()) +
                 " other memory (.data = or set_())");
      if (!data || slotOf(data) != i)
        continue;
      StepValue value = find(valueOf(data));
      StepValue given = find(values[i]);
      for (uint32_t l = 0; l < made.launches.size(); ++l)
        for (const StepRecording::Effect &effect : made.launches[l].effects)
          if (effect.slot == i)
            given = resultOf(l, effect.result);
      bool isGiven = value.kind == given.kind && value.index == given.index &&
                     value.result == given.result;
      if (!isGiven)
        made.copies.emplace_back(i, value);
      if (value.kind == StepValue::Unknown)
        obstruct("gives a tensor a value that comes from elsewhere");
    }
  }

private:
  StepValue number(uint64_t bits) const;
  StepValue argument(const Tape::Launch &launch, size_t i);
  StepValue uploaded(const Tape::Identity &buffer) const;

  StepRecording &made;
  const Tape &tape;
  const std::vector<at::Tensor> &hosts;
  std::map<Tape::Identity, StepValue, std::owner_less<>> buffers;
  std::map<std::weak_ptr<TensorData>, uint32_t, std::owner_less<>> slots;
  std::set<TensorDataPtr> accounted;
  std::map<uint64_t, uint32_t> seeds;
};
} // namespace

void Reader::addSlots(const std::vector<std::weak_ptr<TensorData>> &datas,
                      const std::vector<Tape::Identity> &values) {
  for (uint32_t i = 0; i < datas.size(); ++i) {
    if (isSame(datas[i], std::weak_ptr<TensorData>()))
      continue; // no gradient
    slots.emplace(datas[i], i);
    StepValue &value = buffers[values[i]];
    if (value.kind == StepValue::Unknown) {
      value.kind = StepValue::Slot;
      value.index = i;
    }
    value.slots.push_back(i);
  }
}

StepValue Reader::number(uint64_t bits) const {
  StepValue value;
  value.kind = StepValue::Number;
  value.bits = bits;
  if (auto seed = seeds.find(bits); seed != seeds.end()) {
    value.kind = StepValue::Seed;
    value.index = seed->second;
  }
  return value;
}

StepValue Reader::uploaded(const Tape::Identity &buffer) const {
  StepValue value;
  auto upload = std::ranges::find_if(tape.uploads, [&](const auto &upload) {
    return isSame(upload.buffer, buffer);
  });
  if (upload == tape.uploads.end())
    return value;
  auto host = std::ranges::find_if(hosts, [&](const at::Tensor &host) {
    return host.is_same(upload->host);
  });
  if (host != hosts.end()) {
    value.kind = StepValue::Host;
    value.index = uint32_t(host - hosts.begin());
  } else if (upload->host.numel() <= 1) {
    value.kind = StepValue::Constant;
    value.constant = upload->host;
  }
  return value;
}

const Node *readerOf(const Graph &graph, ValueId input) {
  for (const Node &node : graph.nodes)
    for (const Argument &argument : node.arguments) {
      auto *one = std::get_if<ValueId>(&argument.value);
      auto *list = std::get_if<std::vector<ValueId>>(&argument.value);
      if ((one && *one == input) ||
          (list && std::ranges::find(*list, input) != list->end()))
        return &node;
    }
  return nullptr;
}

StepValue Reader::argument(const Tape::Launch &launch, size_t i) {
  if (launch.graph->inputs[i].isScalar)
    return number(launch.bits[i]);
  StepValue value = find(launch.inputs[i]);
  if (value.kind == StepValue::Unknown)
    value = uploaded(launch.inputs[i]);
  if (value.kind != StepValue::Unknown)
    return value;
  const Node *reader = readerOf(*launch.graph, ValueId(i));
  SourceId place = reader ? reader->source : launch.graph->endedBy;
  for (const Tape::Upload &upload : tape.uploads)
    if (isSame(upload.buffer, launch.inputs[i])) {
      obstruct("moves a CPU tensor of " + c10::str(upload.host.sizes()) +
                   " that it makes itself to the device",
               upload.place);
      return value;
    }
  obstruct("reads a tensor of " + launch.graph->inputs[i].str() +
               " that is reached neither from its arguments nor from what the "
               "function names" +
               (reader ? " (" + reader->op + ")" : ""),
           place);
  return value;
}

void Reader::addLaunch(const Tape::Launch &launch) {
  StepRecording::Launch row{launch.device, launch.key, launch.graph, {}, {},
                            launch.shapes};
  if (!made.launches.empty() && made.launches[0].device != launch.device)
    obstruct("uses more than one lazy device", launch.graph->endedBy);
  for (size_t i = 0; i < launch.inputs.size(); ++i)
    row.arguments.push_back(argument(launch, i));
  for (const auto &receiver : launch.receivers)
    if (auto slot = slotOf(receiver.tensor); slot && !receiver.tensor.expired())
      row.effects.push_back({*slot, receiver.result});
  std::ranges::sort(row.effects, {}, &StepRecording::Effect::slot);
  for (uint32_t i = 0; i < launch.results.size(); ++i) {
    buffers.insert_or_assign(launch.results[i],
                             resultOf(uint32_t(made.launches.size()), i));
  }
  made.launches.push_back(std::move(row));
}

void Reader::addWaits() {
  using profile::Cause;
  for (const Tape::Wait &wait : tape.waits)
    if (!made.wait && wait.cause != Cause::MarkStep &&
        wait.cause != Cause::OptimizerStep && wait.cause != Cause::Parameters &&
        wait.cause != Cause::Cap)
      made.wait = {"waits for a value (" + std::string(name(wait.cause)) +
                       (wait.detail.empty() ? "" : " of " + wait.detail) + ")",
                   wait.place};
}

/// The node that makes a result of the graph.
static const Node *makerOf(const Graph &graph, uint32_t result) {
  ValueId value = graph.outputs[result].value;
  ValueId next = ValueId(graph.inputs.size());
  for (const Node &node : graph.nodes) {
    next += ValueId(node.results.size());
    if (value < next)
      return &node;
  }
  return nullptr;
}

void Reader::addStrays() {
  for (const Tape::Launch &launch : tape.launches)
    for (const auto &receiver : launch.receivers) {
      TensorDataPtr alive = receiver.tensor.lock();
      if (!alive || slotOf(receiver.tensor) || accounted.contains(alive))
        continue;
      const Node *node = makerOf(*launch.graph, receiver.result);
      obstruct("leaves a tensor behind" +
                   (node ? ", a result of " + node->op : std::string()) +
                   ", where neither its arguments nor what the function names "
                   "lead to",
               node ? node->source : launch.graph->endedBy);
    }
}

StepRecording::Fresh Reader::fresh(const at::Tensor &tensor) {
  Tape::Identity buffer = valueOf(tensorData(tensor));
  StepValue value = find(buffer);
  if (value.kind == StepValue::Unknown)
    value = uploaded(buffer);
  if (value.kind == StepValue::Unknown)
    obstruct("gives a tensor of " + c10::str(tensor.sizes()) +
             " whose value comes from elsewhere");
  account(tensor);
  return {std::move(value),
          torch::lazy::Shape(tensor.scalar_type(), tensor.sizes()),
          layoutOf(tensor)};
}

bool StepRecorder::hasNewGradient(size_t slot) const {
  const at::Tensor &gradient = tensors[slot].grad();
  return gradient.defined() &&
         gradient.unsafeGetTensorImpl() != gradients[slot]._unsafe_get_target();
}

/// A bias' gradient is a view of a sum. Copied behind the graph that an
/// optimizer ends, it would be a launch of its own.
void StepRecorder::materialiseGradients() const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (hasNewGradient(i))
      materialise(tensors[i].grad());
}

void StepRecorder::compute(const std::vector<at::Tensor> &results) {
  std::vector<TensorDataPtr> fresh;
  for (const at::Tensor &result : results) {
    materialise(result);
    fresh.push_back(tensorData(result));
  }
  materialiseGradients();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (hasNewGradient(i))
      fresh.push_back(tensorData(tensors[i].grad()));
  for (const auto &data : datas)
    if (TensorDataPtr alive = data.lock())
      fresh.push_back(std::move(alive));
  settle(fresh);
}

std::shared_ptr<const StepRecording>
StepRecorder::finish(const std::vector<at::Tensor> &results) {
  compute(results);
  tape.end();

  Reader reader(*made, tape, hosts);
  reader.addWaits();
  reader.addSlots(datas, values);
  for (const Tape::Launch &launch : tape.launches)
    reader.addLaunch(launch);
  for (const Tape::Draw &draw : tape.draws)
    made->draws.push_back(draw.generator);
  reader.addCopies(tensors, datas, values);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor &gradient = tensors[i].grad();
    if (hasNewGradient(i))
      made->gradients.push_back({i, reader.fresh(gradient)});
    else if (!gradient.defined() && made->hadGradient[i])
      made->gradients.push_back({i, std::nullopt});
  }
  for (const at::Tensor &result : results)
    made->results.push_back(reader.fresh(result));
  for (const at::Tensor &tensor : tensors)
    reader.account(tensor);
  for (const Tape::Counted &counted : tape.counted) {
    std::optional<uint32_t> slot = reader.slotOf(counted.parameter);
    if (slot)
      made->counted.push_back({*slot, counted.counts});
    else
      reader.obstruct("steps an optimizer that it does not lead to");
  }
  for (const at::Tensor &host : hosts)
    made->after.push_back(hostValue(host));
  reader.addStrays();
  return made;
}

} // namespace ltc::backend
