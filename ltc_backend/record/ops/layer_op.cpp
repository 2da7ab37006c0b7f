//===- ops/layer_op.cpp - Ops of our own for layers -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/layer_op.h"

#include "ltc_backend/record/under_transform.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace ltc::backend {
using at::Tensor;
using torch::autograd::variable_list;

c10::FunctionSchema schemaOf(const char *name, Names tensors, Names flags,
                             Names results) {
  auto tensor = c10::TensorType::get();
  std::vector<c10::Argument> arguments, returns;
  for (std::string one : tensors) {
    bool mayMiss = one.ends_with('?');
    if (mayMiss)
      one.pop_back();
    arguments.emplace_back(one, mayMiss ? c10::OptionalType::create(tensor)
                                        : c10::TypePtr(tensor));
  }
  for (std::string one : flags) {
    bool isString = one.ends_with('$');
    if (isString)
      one.pop_back();
    arguments.emplace_back(one, isString ? c10::TypePtr(c10::StringType::get())
                                         : c10::BoolType::get());
  }
  for (const char *one : results)
    returns.emplace_back(one, tensor);
  return {std::string("ltc::") + name, "", std::move(arguments),
          std::move(returns)};
}

torch::Library &layerOps() {
  static auto *library = new torch::Library(torch::Library::FRAGMENT, "ltc",
                                            std::nullopt, __FILE__, __LINE__);
  return *library;
}

Tensor emptyWithLast(const Tensor &like, int64_t last) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes.back() = last;
  return like.new_empty(sizes);
}

variable_list gradientsOf(const variable_list &outputs,
                          const variable_list &inputs,
                          const variable_list &grads) {
  variable_list wanted, result(inputs.size());
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) {
      wanted.push_back(inputs[i]);
      places.push_back(i);
    }
  variable_list found = torch::autograd::grad(
      outputs, wanted, grads,
      /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  for (size_t i = 0; i < places.size(); ++i)
    result[places[i]] = found[i];
  return result;
}

bool Layers::areUnderTransform(const Tensor &input, at::TensorList states,
                               at::TensorList parameters) {
  return isUnderTransform(input) ||
         std::ranges::any_of(states, isUnderTransform) ||
         std::ranges::any_of(parameters, isUnderTransform);
}

bool Layers::fit(const Tensor &input, at::TensorList states,
                 at::TensorList parameters, int64_t gates,
                 bool byKernels) const {
  at::ScalarType type = input.scalar_type();
  if (byKernels ? type != at::kFloat : !at::isFloatingType(type))
    return false;
  if (input.dim() != (sizes.arePacked() ? 2 : 3) || input.numel() == 0 ||
      count < 1 ||
      !std::ranges::all_of(
          states,
          [](const Tensor &state) {
            return state.dim() == 3 && state.size(-1) != 0;
          }))
    return false;
  int64_t hidden = states.back().size(-1), out = states[0].size(-1);
  bool projects = out != hidden;
  int64_t all = count * directions(), each = (hasBiases ? 4 : 2) + projects;
  if (int64_t(parameters.size()) != all * each)
    return false;
  auto isAlike = [&](const Tensor &tensor) {
    return tensor.scalar_type() == type && tensor.device() == input.device();
  };
  int64_t batch =
      sizes.arePacked() ? sizes.batch() : input.size(isBatchFirst ? 0 : 1);
  if (sizes.arePacked() && sizes.rows() != input.size(0))
    return false;
  for (const Tensor &state : states)
    if (!isAlike(state) ||
        state.sizes() != at::IntArrayRef{all, batch, state.size(-1)})
      return false;
  int64_t rows = gates * hidden;
  for (int64_t number = 0; number < all; ++number) {
    at::TensorList own = parametersOf(parameters, number);
    int64_t features =
        number < directions() ? input.size(-1) : out * directions();
    if (own[0].sizes() != at::IntArrayRef{rows, features} ||
        own[1].sizes() != at::IntArrayRef{rows, out} ||
        (projects && own.back().sizes() != at::IntArrayRef{out, hidden}) ||
        !std::ranges::all_of(own.slice(2, hasBiases ? 2 : 0),
                             [&](const Tensor &bias) {
                               return bias.sizes() == at::IntArrayRef{rows};
                             }))
      return false;
  }
  return std::ranges::all_of(parameters, isAlike);
}

std::optional<Layers> Layers::ofPacked(const Tensor &batchSizes, int64_t count,
                                       bool isBidirectional, bool hasBiases,
                                       double dropout, bool train) {
  if (!BatchSizes::areValid(batchSizes))
    return {};
  return Layers{
      count, isBidirectional,       hasBiases, /*isBatchFirst=*/false, dropout,
      train, BatchSizes(batchSizes)};
}

Tensor Layers::timesFirst(const Tensor &input) const {
  // Of dense rows, a product with a weight is one for all times.
  return (isBatchFirst ? input.transpose(0, 1) : input).contiguous();
}

Tensor Layers::asAsked(const Tensor &output) const {
  return isBatchFirst ? output.transpose(0, 1) : output;
}

Tensor Layers::run(Tensor input, const Direction &direction) const {
  for (int64_t layer = 0; layer < count; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t way = 0; way < directions(); ++way)
      outputs.push_back(
          direction(input, layer * directions() + way, /*reverse=*/way == 1));
    input = isBidirectional ? at::cat(outputs, -1) : outputs[0];
    if (dropout != 0 && train && layer + 1 < count)
      input = at::dropout(input, dropout, train);
  }
  return input;
}

} // namespace ltc::backend
