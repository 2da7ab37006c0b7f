//===- ops/rnn.cpp - RNNs as one call a layer -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/rnn.h"

#include "ltc_backend/kernels/rnn.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/layer_op.h"

#include <ATen/ATen.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;

namespace {

Tensor emptyForward(const Tensor &projected, const Tensor &hx,
                    const Tensor &weight, const Tensor &bias, bool relu,
                    bool reverse) {
  return projected.new_empty(projected.sizes());
}

Tensor &forwardOut(const Tensor &projected, const Tensor &hx,
                   const Tensor &weight, const Tensor &bias, bool relu,
                   bool reverse, Tensor &output) {
  rnnLayer({projected, hx, weight, bias}, relu, reverse, output);
  return output;
}

Two emptyBackward(const Tensor &output, const Tensor &weight,
                  const Tensor &gradOutput, bool relu, bool reverse) {
  return {output.new_empty(output.sizes()),
          output.new_empty({output.size(1), output.size(2)})};
}

std::tuple<Tensor &, Tensor &> backwardOut(const Tensor &output,
                                           const Tensor &weight,
                                           const Tensor &gradOutput, bool relu,
                                           bool reverse, Tensor &gradSums,
                                           Tensor &gradHx) {
  rnnLayerBackward(output, weight, gradOutput, relu, reverse, gradSums, gradHx);
  return {gradSums, gradHx};
}

/// One direction of one layer in ops that all differentiate and batch, none in
/// place.
template <bool relu>
Tensor recurrence(const Tensor &projected, const Tensor &hx,
                  const Tensor &weight, const std::optional<Tensor> &bias,
                  bool reverse) {
  Tensor state = hx;
  int64_t times = projected.size(0);
  std::vector<Tensor> outputs(times);
  for (int64_t i = 0; i < times; ++i) {
    int64_t time = reverse ? times - 1 - i : i;
    Tensor sum = projected.select(0, time) + at::linear(state, weight, bias);
    state = relu ? sum.relu() : sum.tanh();
    outputs[time] = state;
  }
  return at::stack(outputs);
}

/// The output of (projected, hx, w_hh, b_hh, relu, reverse).
struct RnnLayer : torch::autograd::Function<RnnLayer> {
  static Tensor forward(AutogradContext *context, const Tensor &projected,
                        const Tensor &hx, const Tensor &weight,
                        const std::optional<Tensor> &bias, bool relu,
                        bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::rnn_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor output =
        op.call(projected, hx, weight,
                bias ? *bias : at::zeros({weight.size(0)}, weight.options()),
                relu, reverse);
    context->saved_data["relu"] = relu;
    context->saved_data["reverse"] = reverse;
    context->save_for_backward(
        {projected, hx, weight, bias.value_or(Tensor()), output});
    return output;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &grads) {
    static auto op =
        handleOf<decltype(emptyBackward)>("ltc::rnn_layer_backward");
    auto saved = context->get_saved_variables();
    const Tensor &hx = saved[1], &weight = saved[2], &bias = saved[3],
                 &output = saved[4];
    bool relu = context->saved_data["relu"].toBool();
    bool reverse = context->saved_data["reverse"].toBool();
    if (at::GradMode::is_enabled()) {
      std::optional<Tensor> given;
      if (bias.defined())
        given = bias;
      variable_list inputs(saved.begin(), saved.begin() + 4);
      auto again = relu ? recurrence<true> : recurrence<false>;
      variable_list result = gradientsOf(
          {again(saved[0], hx, weight, given, reverse)}, inputs, grads);
      result.resize(6); // relu and reverse
      return result;
    }
    auto [gradSums, gradHx] = op.call(output, weight, grads[0], relu, reverse);
    variable_list result{gradSums, gradHx, {}, {}, {}, {}};
    if (context->needs_input_grad(2))
      result[2] = gradSums.flatten(0, 1).t().mm(
          statesBefore(output, hx, reverse).flatten(0, 1));
    if (bias.defined() && context->needs_input_grad(3))
      result[3] = gradSums.sum({0, 1});
    return result;
  }
};

template <bool relu>
Tensor layerOf(const Tensor &projected, const Tensor &hx, const Tensor &weight,
               const std::optional<Tensor> &bias, bool reverse) {
  return RnnLayer::apply(projected, hx, weight, bias, relu, reverse);
}

template <bool relu>
Two rnn(const Tensor &input, const Tensor &hx, TensorList params,
        bool hasBiases, int64_t count, double dropout, bool train,
        bool bidirectional, bool batchFirst) {
  bool byOps = Layers::areWatched(input, {hx}, params);
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  // Under autocast only eager's products have fewer digits.
  bool isOurs = (byOps || hasRnnLayer()) && !isAutocastEnabled() &&
                layers.fit(input, {hx}, params, /*gates=*/1, !byOps);
  if (!input.device().is_lazy() || !isOurs) {
    if constexpr (relu)
      return at::native::rnn_relu(input, hx, params, hasBiases, count, dropout,
                                  train, bidirectional, batchFirst);
    else
      return at::native::rnn_tanh(input, hx, params, hasBiases, count, dropout,
                                  train, bidirectional, batchFirst);
  }
  return layers.runProjected(input, hx, params,
                             byOps ? recurrence<relu> : layerOf<relu>);
}

} // namespace

void registerRnn() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward, forwardOut>("rnn_layer",
                                          {"projected", "hx", "weight", "bias"},
                                          {"relu", "reverse"}, {"output"});
  defineLayerOp<emptyBackward, backwardOut>(
      "rnn_layer_backward", {"output", "weight", "grad_output"},
      {"relu", "reverse"}, {"grad_sums", "grad_hx"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther}) {
    makeLibrary("aten", key)->impl("rnn_tanh.input", rnn<false>);
    makeLibrary("aten", key)->impl("rnn_relu.input", rnn<true>);
  }
}

} // namespace ltc::backend
