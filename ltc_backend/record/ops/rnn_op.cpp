//===- ops/rnn_op.cpp - RNNs as one call a layer --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/rnn_op.h"

#include "ltc_backend/record/ops/projected_layer.h"

#include "ltc/cpu_kernels.h"

#include <ATen/ATen.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;
using Optional = std::optional<Tensor>;

namespace {

Tensor emptyForward(const Tensor &projected, const Tensor &hx,
                    const Tensor &weight, const Tensor &bias,
                    const Optional &batchSizes, bool relu, bool reverse) {
  return projected.new_empty(projected.sizes());
}

Two emptyBackward(const Tensor &output, const Tensor &hx, const Tensor &weight,
                  const Tensor &gradOutput, const Optional &batchSizes,
                  bool relu, bool reverse) {
  return {output.new_empty(output.sizes()), hx.new_empty(hx.sizes())};
}

/// One direction of one layer by ops.
template <bool relu>
Tensor recurrence(const Tensor &projected, const Tensor &hx,
                  const Tensor &weight, const Optional &bias,
                  const BatchSizes &sizes, bool reverse) {
  variable_list made = sizes.recur(
      projected, {hx}, reverse,
      [&](const Tensor &rows, const variable_list &before) -> variable_list {
        Tensor sum = rows + at::linear(before[0], weight, bias);
        return {relu ? sum.relu() : sum.tanh()};
      });
  return made[0];
}

/// The output of (projected, hx, w_hh, b_hh, sizes, relu, reverse).
struct RnnLayer : torch::autograd::Function<RnnLayer> {
  static Tensor forward(AutogradContext *context, const Tensor &projected,
                        const Tensor &hx, const Tensor &weight,
                        const Optional &bias, const BatchSizes &sizes,
                        bool relu, bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::rnn_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    Optional batchSizes = sizes.tensorFor(projected);
    Tensor output =
        op.call(projected, hx, weight,
                bias ? *bias : at::zeros({weight.size(0)}, weight.options()),
                batchSizes, relu, reverse);
    context->saved_data["relu"] = relu;
    context->saved_data["reverse"] = reverse;
    context->saved_data["sizes"] = sizes.tensor();
    context->save_for_backward({projected, hx, weight, bias.value_or(Tensor()),
                                output, batchSizes.value_or(Tensor())});
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
    BatchSizes sizes(context->saved_data["sizes"].toTensor());
    if (at::GradMode::is_enabled()) {
      variable_list inputs(saved.begin(), saved.begin() + 4);
      auto again = relu ? recurrence<true> : recurrence<false>;
      variable_list result = gradientsOf(
          {again(saved[0], hx, weight, given(bias), sizes, reverse)}, inputs,
          grads);
      result.resize(7); // sizes, relu and reverse
      return result;
    }
    auto [gradSums, gradHx] =
        op.call(output, hx, weight, grads[0], given(saved[5]), relu, reverse);
    variable_list result{gradSums, gradHx, {}, {}, {}, {}, {}};
    Tensor rows = gradSums.flatten(0, -2);
    if (context->needs_input_grad(2))
      result[2] = rows.t().mm(sizes.before(output, hx, reverse));
    if (bias.defined() && context->needs_input_grad(3))
      result[3] = rows.sum(0);
    return result;
  }
};

template <bool relu>
Tensor layerOf(const Tensor &projected, const Tensor &hx, const Tensor &weight,
               const Optional &bias, const BatchSizes &sizes, bool reverse) {
  return RnnLayer::apply(projected, hx, weight, bias, sizes, relu, reverse);
}

template <bool relu>
const ProjectedLayer unit{relu ? "rnn_relu" : "rnn_tanh", /*gates=*/1,
                          kernels::hasRecurrentLayers, layerOf<relu>,
                          recurrence<relu>};

template <bool relu>
Two rnn(const Tensor &input, const Tensor &hx, TensorList params,
        bool hasBiases, int64_t count, double dropout, bool train,
        bool bidirectional, bool batchFirst) {
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  if (auto made = unit<relu>.run(layers, input, hx, params))
    return *made;
  if constexpr (relu)
    return at::native::rnn_relu(input, hx, params, hasBiases, count, dropout,
                                train, bidirectional, batchFirst);
  else
    return at::native::rnn_tanh(input, hx, params, hasBiases, count, dropout,
                                train, bidirectional, batchFirst);
}

template <bool relu>
Two rnnOfPacked(const Tensor &data, const Tensor &batchSizes, const Tensor &hx,
                TensorList params, bool hasBiases, int64_t count,
                double dropout, bool train, bool bidirectional) {
  if (auto layers = Layers::ofPacked(batchSizes, count, bidirectional,
                                     hasBiases, dropout, train))
    if (auto made = unit<relu>.run(*layers, data, hx, params))
      return *made;
  if constexpr (relu)
    return at::native::rnn_relu(data, batchSizes, hx, params, hasBiases, count,
                                dropout, train, bidirectional);
  else
    return at::native::rnn_tanh(data, batchSizes, hx, params, hasBiases, count,
                                dropout, train, bidirectional);
}

} // namespace

void registerRnn() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward>(
      "rnn_layer", {"projected", "hx", "weight", "bias", "batch_sizes?"},
      {"relu", "reverse"}, {"output"});
  defineLayerOp<emptyBackward>(
      "rnn_layer_backward",
      {"output", "hx", "weight", "grad_output", "batch_sizes?"},
      {"relu", "reverse"}, {"grad_sums", "grad_hx"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther}) {
    makeLibrary("aten", key)->impl("rnn_tanh.input", rnn<false>);
    makeLibrary("aten", key)->impl("rnn_relu.input", rnn<true>);
    makeLibrary("aten", key)->impl("rnn_tanh.data", rnnOfPacked<false>);
    makeLibrary("aten", key)->impl("rnn_relu.data", rnnOfPacked<true>);
  }
}

} // namespace ltc::backend
