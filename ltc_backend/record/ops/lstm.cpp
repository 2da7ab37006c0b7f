//===- ops/lstm.cpp - LSTMs as one call a layer ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eager CPU runs a layer of an LSTM by one oneDNN primitive; the composite
// kernel for other devices takes a dozen ops a time. Here, too, a direction of
// a layer is one call; its backward is one for the gates, over all times, and
// one each for what follows from them: the weights' and the input's gradients.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/lstm.h"

#include "ltc_backend/kernels/lstm.h"
#include "ltc_backend/kernels/lstm_cell.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/ops/layer_op.h"

#include <ATen/ATen.h>
#include <ATen/ops/lstm_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

namespace {

Three emptyForward(const Tensor &input, const Tensor &hx, const Tensor &cx,
                   const Tensor &inputWeight, const Tensor &weight,
                   const Tensor &bias, bool reverse) {
  int64_t times = input.size(0), batch = input.size(1), hidden = hx.size(1);
  auto states = input.new_empty({times, batch, hidden});
  return {states, at::empty_like(states),
          input.new_empty({lstmUnitBlocks(hidden), times, batch, kLstmGates})};
}

std::tuple<Tensor &, Tensor &, Tensor &>
forwardOut(const Tensor &input, const Tensor &hx, const Tensor &cx,
           const Tensor &inputWeight, const Tensor &weight, const Tensor &bias,
           bool reverse, Tensor &output, Tensor &cells, Tensor &gates) {
  lstmLayer({input, hx, cx, inputWeight, weight, bias}, reverse, output, cells,
            gates);
  return {output, cells, gates};
}

Two emptyBackward(const Tensor &gates, const Tensor &cells, const Tensor &cx,
                  const Tensor &weight, const Tensor &gradOutput,
                  const Tensor &gradCy, bool reverse) {
  return {at::empty_like(gates), at::empty(cx.sizes(), cx.options())};
}

std::tuple<Tensor &, Tensor &>
backwardOut(const Tensor &gates, const Tensor &cells, const Tensor &cx,
            const Tensor &weight, const Tensor &gradOutput,
            const Tensor &gradCy, bool reverse, Tensor &gradGates,
            Tensor &gradCx) {
  lstmLayerBackward(gates, cells, cx, weight, gradOutput, gradCy, reverse,
                    gradGates, gradCx);
  return {gradGates, gradCx};
}

Three emptyWeights(const Tensor &gradGates, const Tensor &input,
                   const Tensor &hx, const Tensor &output, bool reverse) {
  int64_t hidden = hx.size(1), rows = kGatesPerUnit * hidden;
  return {input.new_empty({rows, input.size(2)}), hx.new_empty({rows, hidden}),
          hx.new_empty({rows})};
}

std::tuple<Tensor &, Tensor &, Tensor &>
weightsOut(const Tensor &gradGates, const Tensor &input, const Tensor &hx,
           const Tensor &output, bool reverse, Tensor &gradInputWeight,
           Tensor &gradWeight, Tensor &gradBias) {
  lstmLayerWeights(gradGates, input, hx, output, reverse, gradInputWeight,
                   gradWeight, gradBias);
  return {gradInputWeight, gradWeight, gradBias};
}

Tensor emptyInput(const Tensor &gradGates, const Tensor &weight) {
  return gradGates.new_empty(
      {gradGates.size(1), gradGates.size(2), weight.size(1)});
}

Tensor &inputOut(const Tensor &gradGates, const Tensor &weight,
                 Tensor &gradInput) {
  lstmLayerInput(gradGates, weight, gradInput);
  return gradInput;
}

/// One direction of one layer in ops that all differentiate and batch, none in
/// place: (output, cy).
variable_list recurrence(const Tensor &input, const Tensor &hx,
                         const Tensor &cx, const Tensor &inputWeight,
                         const Tensor &weight,
                         const std::optional<Tensor> &bias, bool reverse) {
  Tensor projected = at::linear(input, inputWeight, bias);
  Tensor state = hx, cell = cx;
  int64_t times = input.size(0);
  std::vector<Tensor> outputs(times);
  for (int64_t i = 0; i < times; ++i) {
    int64_t time = reverse ? times - 1 - i : i;
    Tensor gates = projected.select(0, time) + at::linear(state, weight);
    auto part = gates.chunk(kGatesPerUnit, 1);
    cell = part[1].sigmoid() * cell + part[0].sigmoid() * part[2].tanh();
    state = part[3].sigmoid() * cell.tanh();
    outputs[time] = state;
  }
  return {at::stack(outputs), cell};
}

/// One direction of one layer: (output, cy) of (input, hx, cx, w_ih, w_hh,
/// bias, reverse).
struct LstmLayer : torch::autograd::Function<LstmLayer> {
  static variable_list forward(AutogradContext *context, const Tensor &input,
                               const Tensor &hx, const Tensor &cx,
                               const Tensor &inputWeight, const Tensor &weight,
                               const std::optional<Tensor> &bias,
                               bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::lstm_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    auto [output, cells, gates] = op.call(
        input, hx, cx, inputWeight, weight,
        bias ? *bias : at::zeros({weight.size(0)}, weight.options()), reverse);
    context->saved_data["reverse"] = reverse;
    context->save_for_backward({input, hx, cx, inputWeight, weight,
                                bias.value_or(Tensor()), output, cells, gates});
    return {output, cells.select(0, reverse ? 0 : -1).clone()};
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &grads) {
    static auto op =
        handleOf<decltype(emptyBackward)>("ltc::lstm_layer_backward");
    static auto weightsOp =
        handleOf<decltype(emptyWeights)>("ltc::lstm_layer_weights");
    static auto inputOp =
        handleOf<decltype(emptyInput)>("ltc::lstm_layer_input");
    if (at::GradMode::is_enabled())
      return differentiable(context, grads);
    auto saved = context->get_saved_variables();
    const Tensor &input = saved[0], &hx = saved[1], &cx = saved[2],
                 &inputWeight = saved[3], &weight = saved[4], &bias = saved[5],
                 &output = saved[6], &cells = saved[7], &gates = saved[8];
    bool reverse = context->saved_data["reverse"].toBool();
    auto [gradGates, gradCx] =
        op.call(gates, cells, cx, weight, grads[0], grads[1], reverse);
    variable_list result{{}, {}, gradCx, {}, {}, {}, {}};
    if (context->needs_input_grad(0))
      result[0] = inputOp.call(gradGates, inputWeight);
    if (context->needs_input_grad(1)) {
      int64_t last = reverse ? gates.size(1) - 1 : 0;
      result[1] = inputOp.call(gradGates.narrow(1, last, 1), weight).squeeze(0);
    }
    bool ofBias = bias.defined() && context->needs_input_grad(5);
    if (context->needs_input_grad(3) || context->needs_input_grad(4) ||
        ofBias) {
      std::tie(result[3], result[4], result[5]) =
          weightsOp.call(gradGates, input, hx, output, reverse);
      if (!ofBias)
        result[5] = Tensor();
    }
    return result;
  }

private:
  /// Once more, for gradients of gradients.
  static variable_list differentiable(AutogradContext *context,
                                      const variable_list &grads) {
    auto saved = context->get_saved_variables();
    std::optional<Tensor> bias;
    if (saved[5].defined())
      bias = saved[5];
    variable_list made =
        recurrence(saved[0], saved[1], saved[2], saved[3], saved[4], bias,
                   context->saved_data["reverse"].toBool());
    variable_list inputs(saved.begin(), saved.begin() + 6);
    variable_list result = gradientsOf(made, inputs, grads);
    result.emplace_back(); // reverse
    return result;
  }
};

variable_list layerOf(const Tensor &input, const Tensor &hx, const Tensor &cx,
                      const Tensor &inputWeight, const Tensor &weight,
                      const std::optional<Tensor> &bias, bool reverse) {
  return LstmLayer::apply(input, hx, cx, inputWeight, weight, bias, reverse);
}

Three lstm(const Tensor &input, TensorList hx, TensorList params,
           bool hasBiases, int64_t count, double dropout, bool train,
           bool bidirectional, bool batchFirst) {
  auto composite = [&] {
    return at::native::lstm(input, hx, params, hasBiases, count, dropout, train,
                            bidirectional, batchFirst);
  };
  if (!input.device().is_lazy())
    return composite();
  bool byOps = Layers::areWatched(input, hx, params);
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  // No projection, and no error to report.
  bool isOurs = (byOps || hasLstmLayer()) && hx.size() == 2 &&
                hx[0].sizes() == hx[1].sizes() &&
                layers.fit(input, hx, params, kGatesPerUnit, !byOps);
  if (!isOurs)
    return composite();
  std::vector<Tensor> hy, cy;
  Tensor x = layers.run(layers.timesFirst(input),
                        [&](const Tensor &input, int64_t number, bool reverse) {
                          TensorList own = layers.parametersOf(params, number);
                          std::optional<Tensor> bias;
                          if (hasBiases)
                            bias = own[2] + own[3];
                          variable_list made = (byOps ? recurrence : layerOf)(
                              input, hx[0][number], hx[1][number], own[0],
                              own[1], bias, reverse);
                          hy.push_back(made[0].select(0, reverse ? 0 : -1));
                          cy.push_back(made[1]);
                          return made[0];
                        });
  return {layers.asAsked(x), at::stack(hy), at::stack(cy)};
}

} // namespace

void registerLstm() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward, forwardOut>(
      "lstm_layer", {"input", "hx", "cx", "input_weight", "weight", "bias"},
      {"reverse"}, {"output", "cells", "gates"});
  defineLayerOp<emptyBackward, backwardOut>(
      "lstm_layer_backward",
      {"gates", "cells", "cx", "weight", "grad_output", "grad_cy"}, {"reverse"},
      {"grad_gates", "grad_cx"});
  defineLayerOp<emptyWeights, weightsOut>(
      "lstm_layer_weights", {"grad_gates", "input", "hx", "output"},
      {"reverse"}, {"grad_input_weight", "grad_weight", "grad_bias"});
  defineLayerOp<emptyInput, inputOut>(
      "lstm_layer_input", {"grad_gates", "weight"}, {}, {"grad_input"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther})
    makeLibrary("aten", key)->impl("lstm.input", lstm);
}

} // namespace ltc::backend
