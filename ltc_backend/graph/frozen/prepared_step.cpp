//===- frozen/prepared_step.cpp - How a frozen step's launch is repeated --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/frozen_step.h"

#include <set>

namespace ltc::backend {

/// How many effects, gradients and returned tensors a result is the value of.
std::vector<uint32_t> FrozenStep::usersOfResults() const {
  std::vector<uint32_t> users(step.launches[0].graph->outputs.size());
  auto add = [&](const StepValue &value) {
    if (value.kind == StepValue::Result)
      ++users[value.result];
  };
  for (const StepRecording::Effect &effect : step.launches[0].effects)
    ++users[effect.result];
  for (const StepRecording::Gradient &gradient : step.gradients)
    if (gradient.fresh)
      add(gradient.fresh->value);
  for (const StepRecording::Fresh &result : step.results)
    add(result.value);
  return users;
}

/// A result stays if it is the new value of one tensor of the program's, in the
/// memory of the old one.
void FrozenStep::planResults(const std::vector<uint32_t> &users) {
  const StepRecording::Launch &launch = step.launches[0];
  plan.renewals.assign(launch.graph->outputs.size(), Renewal::Fresh);
  for (uint32_t i = 0; i < launch.effects.size(); ++i) {
    const auto [slot, result] = launch.effects[i];
    const std::optional<uint32_t> &input =
        launch.graph->outputs[result].donated;
    const StepValue *from = input ? &launch.arguments[*input] : nullptr;
    const bool stays =
        from && from->kind == StepValue::Slot && from->slots[0] == slot &&
        slot % step.tensors < state.tensors.size() && users[result] == 1 &&
        launch.graph->inputs[*input].tensor ==
            launch.graph->typeOf(launch.graph->outputs[result].value).tensor;
    if (!stays) {
      plan.effects.push_back(i);
      continue;
    }
    plan.renewals[result] = Renewal::Updated;
    plan.updated.push_back({slot, result});
  }
}

void FrozenStep::planGradients(const std::vector<uint32_t> &users) {
  const Graph &graph = *step.launches[0].graph;
  std::vector<bool> isRemade(step.tensors);
  for (uint32_t i = 0; i < step.gradients.size(); ++i) {
    const StepRecording::Gradient &gradient = step.gradients[i];
    const StepValue *value = gradient.fresh ? &gradient.fresh->value : nullptr;
    const bool stays = value && value->kind == StepValue::Result &&
                       users[value->result] == 1 &&
                       !graph.outputs[value->result].donated &&
                       gradient.tensor < state.tensors.size() &&
                       useOf[step.tensors + gradient.tensor] == UINT32_MAX &&
                       step.hadGradient[gradient.tensor];
    (stays ? plan.remade : plan.others).push_back(i);
    if (!stays)
      continue;
    plan.renewals[value->result] = Renewal::Remade;
    isRemade[gradient.tensor] = true;
  }
  for (uint32_t i = 0; i < step.tensors; ++i)
    if (!isRemade[i])
      plan.apart.push_back(i);
}

void FrozenStep::planInputs() {
  const StepRecording::Launch &launch = step.launches[0];
  std::set<uint32_t> others; // slots
  for (uint32_t effect : plan.effects)
    others.insert(launch.effects[effect].slot);
  plan.varies.assign(launch.arguments.size(), true);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const StepValue &from = launch.arguments[i];
    plan.varies[i] =
        !(from.kind == StepValue::Number ||
          (from.kind == StepValue::Slot && !others.contains(from.slots[0]) &&
           from.slots[0] % step.tensors < state.tensors.size()));
  }
  std::vector<bool> isUpdated(launch.arguments.size());
  for (uint32_t i = 0; i < plan.renewals.size(); ++i) {
    const std::optional<uint32_t> &input = launch.graph->outputs[i].donated;
    if (plan.renewals[i] == Renewal::Fresh) {
      plan.fresh.push_back(i);
      if (input)
        plan.varies[*input] = true;
    } else if (input) {
      isUpdated[*input] = true;
    }
  }
  for (uint32_t i = 0; i < launch.arguments.size(); ++i)
    if (const StepValue &from = launch.arguments[i]; plan.varies[i]) {
      plan.inputs.push_back(i);
      if (from.kind == StepValue::Slot)
        others.insert(from.slots[0]);
    } else if (from.kind == StepValue::Slot && !isUpdated[i]) {
      plan.read.push_back(from.slots[0]);
    }
  plan.slots.assign(others.begin(), others.end());
}

/// Steps of one launch, of tensors that are no views, can be repeated. Which
/// tensor has a value must not be open.
void FrozenStep::makePlan() {
  if (step.launches.size() != 1 || !step.copies.empty())
    return;
  const StepRecording::Launch &launch = step.launches[0];
  auto isOpen = [](const StepValue &value) {
    return value.kind == StepValue::Slot && value.slots.size() != 1;
  };
  auto isOld = [](const StepRecording::Fresh &fresh) {
    return fresh.value.kind == StepValue::Slot;
  };
  if (std::ranges::any_of(
          uses, [&](const Use &use) { return use.slot >= 2 * step.tensors; }) ||
      std::ranges::any_of(launch.arguments, isOpen) ||
      std::ranges::any_of(step.results, isOld) ||
      std::ranges::any_of(step.gradients, [&](const auto &gradient) {
        return gradient.fresh && isOld(*gradient.fresh);
      }))
    return;
  const std::vector<uint32_t> users = usersOfResults();
  planResults(users);
  planGradients(users);
  planInputs();
  plan.isPossible = !plan.updated.empty();
}

} // namespace ltc::backend
