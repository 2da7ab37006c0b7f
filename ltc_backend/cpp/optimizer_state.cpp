//===- cpp/optimizer_state.cpp - What an optimizer keeps ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/optimizer_state.h"

#include "ltc_backend/raise.h"

#include <torch/optim.h>

namespace ltc::backend {
using at::Tensor;
using torch::optim::Optimizer;
using torch::optim::OptimizerParamState;

namespace {

template <typename State> void addTensors(State &s, std::vector<Tensor *> &to) {
  auto add = [&](auto &...tensors) { (to.push_back(&tensors), ...); };
  if constexpr (requires { s.exp_avg(); })
    add(s.exp_avg(), s.exp_avg_sq(), s.max_exp_avg_sq());
  if constexpr (requires { s.momentum_buffer(); })
    add(s.momentum_buffer());
  if constexpr (requires { s.square_avg(); })
    add(s.square_avg(), s.grad_avg());
  if constexpr (requires { s.sum(); })
    add(s.sum());
}

template <typename... States>
std::optional<std::vector<Tensor *>> tensorsOf(OptimizerParamState &state) {
  std::vector<Tensor *> tensors;
  auto addIf = [&](auto *found) {
    if (found)
      addTensors(*found, tensors);
    return found != nullptr;
  };
  if ((addIf(dynamic_cast<States *>(&state)) || ...))
    return tensors;
  return std::nullopt;
}

/// Nothing where the class is not known.
std::optional<std::vector<Tensor *>> stateTensors(OptimizerParamState &state) {
  using namespace torch::optim;
  return tensorsOf<SGDParamState, AdamParamState, AdamWParamState,
                   RMSpropParamState, AdagradParamState>(state);
}

} // namespace

void addHandles(Optimizer &optimizer, RegisteredTensors &found) {
  for (auto &group : optimizer.param_groups())
    for (Tensor &parameter : group.params())
      if (auto entry = found.find(parameter.unsafeGetTensorImpl());
          entry != found.end())
        entry->second.handles.insert(&parameter);
}

void checkState(Optimizer &optimizer) {
  for (auto &[key, state] : optimizer.state())
    if (!stateTensors(*state))
      raise({ErrorCode::Unsupported,
             Stage::Record,
             "ltc::to() was given an optimizer that has made a step, of a "
             "class whose state it does not know; it knows SGD, Adam, AdamW, "
             "RMSprop and Adagrad",
             "",
             {},
             "move the module before the optimizer's first step"});
}

void moveState(Optimizer &optimizer, const RegisteredTensors &found) {
  for (const auto &[impl, entry] : found) {
    auto &states = optimizer.state();
    auto place = states.find(const_cast<c10::TensorImpl *>(impl));
    if (place == states.end() || !entry.moved.defined())
      continue;
    std::unique_ptr<OptimizerParamState> state = std::move(place->second);
    states.erase(place);
    std::vector<Tensor *> tensors = *stateTensors(*state);
    for (Tensor *tensor : tensors)
      if (tensor->defined())
        *tensor = tensor->to(entry.moved.device());
    states[entry.moved.unsafeGetTensorImpl()] = std::move(state);
  }
}

} // namespace ltc::backend
