//===- ops/gru.cpp - GRUs as one call a layer -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The composite kernel takes a dozen ops a time. Here a direction of a layer is
// two: the product with the input, over all times, and one call for the rest,
// as is its backward; the gradient of the state's weight is a product again.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/gru.h"

#include "ltc_backend/kernels/gru.h"
#include "ltc_backend/kernels/gru_cell.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/layer_op.h"

#include <ATen/ATen.h>
#include <ATen/ops/gru_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

namespace {

Two emptyForward(const Tensor &projected, const Tensor &hx,
                 const Tensor &weight, const Tensor &bias, bool reverse) {
  int64_t times = projected.size(0), batch = projected.size(1);
  int64_t hidden = hx.size(1);
  return {projected.new_empty({times, batch, hidden}),
          projected.new_empty({times, batch, (kGruGates + 1) * hidden})};
}

std::tuple<Tensor &, Tensor &>
forwardOut(const Tensor &projected, const Tensor &hx, const Tensor &weight,
           const Tensor &bias, bool reverse, Tensor &output, Tensor &gates) {
  gruLayer({projected, hx, weight, bias}, reverse, output, gates);
  return {output, gates};
}

Three emptyBackward(const Tensor &gates, const Tensor &output, const Tensor &hx,
                    const Tensor &weight, const Tensor &gradOutput,
                    bool reverse) {
  auto products = output.new_empty(
      {output.size(0), output.size(1), kGruGates * output.size(2)});
  return {products, at::empty_like(products), hx.new_empty(hx.sizes())};
}

std::tuple<Tensor &, Tensor &, Tensor &>
backwardOut(const Tensor &gates, const Tensor &output, const Tensor &hx,
            const Tensor &weight, const Tensor &gradOutput, bool reverse,
            Tensor &gradProjected, Tensor &gradProducts, Tensor &gradHx) {
  gruLayerBackward(gates, output, hx, weight, gradOutput, reverse,
                   gradProjected, gradProducts, gradHx);
  return {gradProjected, gradProducts, gradHx};
}

/// One direction of one layer in ops that all differentiate and batch, none in
/// place.
Tensor recurrence(const Tensor &projected, const Tensor &hx,
                  const Tensor &weight, const std::optional<Tensor> &bias,
                  bool reverse) {
  Tensor state = hx;
  int64_t times = projected.size(0);
  std::vector<Tensor> outputs(times);
  for (int64_t i = 0; i < times; ++i) {
    int64_t time = reverse ? times - 1 - i : i;
    auto ofInput = projected.select(0, time).chunk(kGruGates, 1);
    auto ofState = at::linear(state, weight, bias).chunk(kGruGates, 1);
    Tensor reset = (ofInput[0] + ofState[0]).sigmoid();
    Tensor update = (ofInput[1] + ofState[1]).sigmoid();
    Tensor made = (ofInput[2] + ofState[2] * reset).tanh();
    state = (state - made) * update + made;
    outputs[time] = state;
  }
  return at::stack(outputs);
}

/// The output of (projected, hx, w_hh, b_hh, reverse).
struct GruLayer : torch::autograd::Function<GruLayer> {
  static Tensor forward(AutogradContext *context, const Tensor &projected,
                        const Tensor &hx, const Tensor &weight,
                        const std::optional<Tensor> &bias, bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::gru_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    auto [output, gates] = op.call(
        projected, hx, weight,
        bias ? *bias : at::zeros({weight.size(0)}, weight.options()), reverse);
    context->saved_data["reverse"] = reverse;
    context->save_for_backward(
        {projected, hx, weight, bias.value_or(Tensor()), output, gates});
    return output;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &grads) {
    static auto op =
        handleOf<decltype(emptyBackward)>("ltc::gru_layer_backward");
    auto saved = context->get_saved_variables();
    const Tensor &hx = saved[1], &weight = saved[2], &bias = saved[3],
                 &output = saved[4], &gates = saved[5];
    bool reverse = context->saved_data["reverse"].toBool();
    if (at::GradMode::is_enabled()) {
      std::optional<Tensor> given;
      if (bias.defined())
        given = bias;
      variable_list inputs(saved.begin(), saved.begin() + 4);
      variable_list result = gradientsOf(
          {recurrence(saved[0], hx, weight, given, reverse)}, inputs, grads);
      result.emplace_back(); // reverse
      return result;
    }
    auto [gradProjected, gradProducts, gradHx] =
        op.call(gates, output, hx, weight, grads[0], reverse);
    variable_list result{gradProjected, gradHx, {}, {}, {}};
    if (context->needs_input_grad(2))
      result[2] = gradProducts.flatten(0, 1).t().mm(
          statesBefore(output, hx, reverse).flatten(0, 1));
    if (bias.defined() && context->needs_input_grad(3))
      result[3] = gradProducts.sum({0, 1});
    return result;
  }
};

Tensor layerOf(const Tensor &projected, const Tensor &hx, const Tensor &weight,
               const std::optional<Tensor> &bias, bool reverse) {
  return GruLayer::apply(projected, hx, weight, bias, reverse);
}

Two gru(const Tensor &input, const Tensor &hx, TensorList params,
        bool hasBiases, int64_t count, double dropout, bool train,
        bool bidirectional, bool batchFirst) {
  bool byOps = Layers::areWatched(input, {hx}, params);
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  // Under autocast only eager's products have fewer digits.
  bool isOurs = (byOps || hasGruLayer()) && !isAutocastEnabled() &&
                layers.fit(input, {hx}, params, kGruGates, !byOps);
  if (!input.device().is_lazy() || !isOurs)
    return at::native::gru(input, hx, params, hasBiases, count, dropout, train,
                           bidirectional, batchFirst);
  return layers.runProjected(input, hx, params, byOps ? recurrence : layerOf);
}

} // namespace

void registerGru() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward, forwardOut>("gru_layer",
                                          {"projected", "hx", "weight", "bias"},
                                          {"reverse"}, {"output", "gates"});
  defineLayerOp<emptyBackward, backwardOut>(
      "gru_layer_backward", {"gates", "output", "hx", "weight", "grad_output"},
      {"reverse"}, {"grad_projected", "grad_products", "grad_hx"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther})
    makeLibrary("aten", key)->impl("gru.input", gru);
}

} // namespace ltc::backend
