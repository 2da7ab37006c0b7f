//===- frozen/frozen_step.cpp - A step without its program ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/frozen_step.h"

#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>

#include <bit>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

namespace ltc::backend {

at::Tensor withOwnMemory(const at::Tensor &tensor) {
  if (!isFunctionalLazy(tensor) ||
      at::functionalization::impl::isBaseTensor(tensor))
    return tensor;
  std::shared_ptr<DeviceData> data = readyData(tensor);
  return wrap(makeTensor(data, data->device().ordinal(), layoutOf(tensor)));
}

/// A number of a graph as one of the program's.
static double valueOf(uint64_t bits, DType type) {
  return type == DType::F64 ? std::bit_cast<double>(bits)
                            : double(int64_t(bits));
}

/// Whether both recordings say that the number is this, or its negative.
static std::optional<bool> sign(double newer, double older, double newerValue,
                                double olderValue) {
  if (newer == newerValue && older == olderValue)
    return false;
  if (newer == -newerValue && older == -olderValue)
    return true;
  return std::nullopt;
}

/// Finds what a number that changes follows. False if nothing is known.
static bool explain(StepValue &value, uint64_t olderBits, DType type,
                    const StepRecording &older, const StepRecording &newer,
                    const std::vector<uint32_t> &counted) {
  double now = valueOf(value.bits, type), before = valueOf(olderBits, type);
  for (uint32_t host : counted)
    if (now == newer.after[host] && before == older.after[host]) {
      value.kind = StepValue::Count;
      value.index = host;
      return true;
    }
  for (uint32_t leaf = 0; leaf < newer.leaves.size(); ++leaf) {
    auto negative = sign(now, before, newer.leaves[leaf], older.leaves[leaf]);
    if (!negative)
      continue;
    if (value.kind != StepValue::Leaf)
      value.isNegative = *negative;
    value.kind = StepValue::Leaf;
    if (value.isNegative == *negative)
      value.slots.push_back(leaf);
  }
  if (value.kind == StepValue::Leaf) {
    value.index = value.slots[0];
    return true;
  }
  return false;
}

std::shared_ptr<const FrozenStep>
FrozenStep::make(const StepRecording &older, const StepRecording &newer,
                 Given state, std::vector<uint32_t> counted,
                 StepObstacle &why) {
  std::shared_ptr<FrozenStep> made(
      new FrozenStep(newer, std::move(state), std::move(counted)));
  for (size_t l = 0; l < newer.launches.size(); ++l)
    for (size_t i = 0; i < newer.launches[l].arguments.size(); ++i) {
      StepValue &value = made->step.launches[l].arguments[i];
      const StepValue &before = older.launches[l].arguments[i];
      if (value.kind == StepValue::Slot)
        std::erase_if(value.slots, [&](uint32_t slot) {
          return std::ranges::find(before.slots, slot) == before.slots.end();
        });
      if (value.kind != StepValue::Number || value.bits == before.bits)
        continue;
      const Graph &graph = *newer.launches[l].graph;
      if (explain(value, before.bits, graph.inputs[i].tensor.dtype, older,
                  newer, made->counted))
        continue;
      const Node *reader = readerOf(graph, ValueId(i));
      why = {"computes with a number that is another in each call" +
                 (reader ? " (" + reader->op + ")" : std::string()),
             reader ? reader->source : graph.endedBy};
      return nullptr;
    }
  made->listSlots();
  made->listCounts(older);
  made->makePlan();
  return made;
}

namespace {
struct Steps {
  std::mutex mutex;
  std::set<const FrozenStep *> steps;
};
} // namespace

/// Never destroyed: steps may outlive statics.
static Steps &allSteps() {
  static auto *all = new Steps;
  return *all;
}

FrozenStep::FrozenStep(const StepRecording &recording, Given state,
                       std::vector<uint32_t> counted)
    : step(recording), state(std::move(state)), counted(std::move(counted)),
      under(&settings()) {
  std::lock_guard lock(allSteps().mutex);
  allSteps().steps.insert(this);
}

FrozenStep::~FrozenStep() {
  std::lock_guard lock(allSteps().mutex);
  allSteps().steps.erase(this);
}

std::shared_ptr<const FrozenStep::Kept> FrozenStep::kept() const {
  std::lock_guard lock(allSteps().mutex);
  return last;
}

/// A step that runs with other shapes may never run again, and would keep the
/// gradients of its last run.
void FrozenStep::keep(std::shared_ptr<const Kept> kept) const {
  std::vector<std::shared_ptr<const Kept>> dropped; // without the lock
  std::lock_guard lock(allSteps().mutex);
  for (const FrozenStep *step : allSteps().steps)
    if (step->last && step->last->updated[0].buffer->isConsumed())
      dropped.push_back(std::move(step->last));
  dropped.push_back(std::exchange(last, std::move(kept)));
}

void FrozenStep::listCounts(const StepRecording &older) {
  std::map<std::pair<double, double>, uint32_t> first;
  for (uint32_t i = 0; i < counted.size(); ++i)
    firstLike.push_back(
        first
            .emplace(std::pair(older.after[counted[i]], step.after[counted[i]]),
                     i)
            .first->second);
}

void FrozenStep::listSlots() {
  useOf.assign(4 * step.tensors, UINT32_MAX);
  auto use = [&](uint32_t slot) -> Use & {
    if (useOf[slot] == UINT32_MAX) {
      useOf[slot] = uint32_t(uses.size());
      uses.push_back({slot, std::nullopt});
    }
    return uses[useOf[slot]];
  };
  auto read = [&](const StepValue &value) {
    if (value.kind == StepValue::Slot)
      for (uint32_t slot : value.slots)
        use(slot);
  };
  for (const StepRecording::Launch &launch : step.launches) {
    device = launch.device;
    effects.emplace_back(launch.effects.size());
    std::iota(effects.back().begin(), effects.back().end(), 0u);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const StepValue &value = launch.arguments[i];
      read(value);
      if (value.kind == StepValue::Slot)
        use(value.slots[0]).type = launch.graph->inputs[i].tensor;
    }
    for (const GraphOutput &output : launch.graph->outputs)
      if (output.donated)
        if (const StepValue &value = launch.arguments[*output.donated];
            value.kind == StepValue::Slot)
          use(value.slots[0]).isDonated = true;
    for (const StepRecording::Effect &effect : launch.effects)
      use(effect.slot).isWritten = true;
  }
  for (const auto &[slot, value] : step.copies) {
    use(slot).isWritten = true;
    read(value);
  }
  for (const StepRecording::Gradient &gradient : step.gradients)
    if (gradient.fresh)
      read(gradient.fresh->value);
  for (const StepRecording::Fresh &result : step.results)
    read(result.value);
}

std::vector<bool> FrozenStep::variableLeaves() const {
  std::vector<bool> variable(step.leaves.size());
  for (const StepRecording::Launch &launch : step.launches)
    for (const StepValue &value : launch.arguments)
      if (value.kind == StepValue::Leaf)
        for (uint32_t leaf : value.slots)
          variable[leaf] = true;
  return variable;
}

} // namespace ltc::backend
