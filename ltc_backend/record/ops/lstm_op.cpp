//===- ops/lstm_op.cpp - LSTMs as one call a layer ------------------------===//
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
#include "ltc_backend/record/ops/lstm_op.h"

#include "ltc_backend/record/ops/host_layer.h"
#include "ltc_backend/record/ops/layer_op.h"

#include "ltc/cpu_kernels.h"
#include "ltc/recurrent.h"

#include <ATen/ATen.h>
#include <ATen/ops/lstm_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

using Optional = std::optional<Tensor>;

namespace {

Three emptyForward(const Tensor &input, const Tensor &hx, const Tensor &cx,
                   const Tensor &inputWeight, const Tensor &weight,
                   const Tensor &bias, const Optional &batchSizes,
                   bool reverse) {
  Tensor states = emptyWithLast(input, hx.size(1));
  Tensor gates = emptyWithLast(input, kLstmGates);
  std::vector<int64_t> blocks = gates.sizes().vec();
  blocks.insert(blocks.begin(), lstmUnitBlocks(hx.size(1)));
  return {states, at::empty_like(states), input.new_empty(blocks)};
}

Two emptyBackward(const Tensor &gates, const Tensor &cells, const Tensor &cx,
                  const Tensor &weight, const Tensor &gradOutput,
                  const Tensor &gradCy, const Optional &batchSizes,
                  bool reverse) {
  return {at::empty_like(gates), at::empty(cx.sizes(), cx.options())};
}

Three emptyWeights(const Tensor &gradGates, const Tensor &input,
                   const Tensor &hx, const Tensor &output,
                   const Optional &batchSizes, bool reverse) {
  int64_t hidden = hx.size(1), rows = kGatesPerUnit * hidden;
  return {input.new_empty({rows, input.size(-1)}), hx.new_empty({rows, hidden}),
          hx.new_empty({rows})};
}

Tensor emptyInput(const Tensor &gradGates, const Tensor &weight) {
  return emptyWithLast(gradGates.select(0, 0), weight.size(1));
}

/// One direction of one layer by ops: (output, cy).
variable_list recurrence(const Tensor &input, const Tensor &hx,
                         const Tensor &cx, const Tensor &inputWeight,
                         const Tensor &weight, const Optional &bias,
                         const BatchSizes &sizes, bool reverse) {
  variable_list made = sizes.recur(
      at::linear(input, inputWeight, bias), {hx, cx}, reverse,
      [&](const Tensor &rows, const variable_list &before) -> variable_list {
        Tensor gates = rows + at::linear(before[0], weight);
        auto part = gates.chunk(kGatesPerUnit, 1);
        Tensor cell =
            part[1].sigmoid() * before[1] + part[0].sigmoid() * part[2].tanh();
        return {part[3].sigmoid() * cell.tanh(), cell};
      });
  return {made[0], made[2]};
}

/// One direction of one layer: (output, cy) of (input, hx, cx, w_ih, w_hh,
/// bias, sizes, reverse).
struct LstmLayer : torch::autograd::Function<LstmLayer> {
  static variable_list forward(AutogradContext *context, const Tensor &input,
                               const Tensor &hx, const Tensor &cx,
                               const Tensor &inputWeight, const Tensor &weight,
                               const Optional &bias, const BatchSizes &sizes,
                               bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::lstm_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    Optional batchSizes = sizes.tensorFor(input);
    auto [output, cells, gates] =
        op.call(input, hx, cx, inputWeight, weight,
                bias ? *bias : at::zeros({weight.size(0)}, weight.options()),
                batchSizes, reverse);
    context->saved_data["reverse"] = reverse;
    context->saved_data["sizes"] = sizes.tensor();
    context->save_for_backward({input, hx, cx, inputWeight, weight,
                                bias.value_or(Tensor()), output, cells, gates,
                                batchSizes.value_or(Tensor())});
    return {output, sizes.last(cells, reverse).clone()};
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
    Optional batchSizes = given(saved[9]);
    bool reverse = context->saved_data["reverse"].toBool();
    BatchSizes sizes(context->saved_data["sizes"].toTensor());
    auto [gradGates, gradCx] = op.call(gates, cells, cx, weight, grads[0],
                                       grads[1], batchSizes, reverse);
    variable_list result{{}, {}, gradCx, {}, {}, {}, {}, {}};
    if (context->needs_input_grad(0))
      result[0] = inputOp.call(gradGates, inputWeight);
    if (context->needs_input_grad(1))
      result[1] = inputOp.call(sizes.first(gradGates, reverse, 1), weight);
    bool ofBias = bias.defined() && context->needs_input_grad(5);
    if (context->needs_input_grad(3) || context->needs_input_grad(4) ||
        ofBias) {
      std::tie(result[3], result[4], result[5]) =
          weightsOp.call(gradGates, input, hx, output, batchSizes, reverse);
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
    variable_list made = recurrence(
        saved[0], saved[1], saved[2], saved[3], saved[4], given(saved[5]),
        BatchSizes(context->saved_data["sizes"].toTensor()),
        context->saved_data["reverse"].toBool());
    variable_list inputs(saved.begin(), saved.begin() + 6);
    variable_list result = gradientsOf(made, inputs, grads);
    result.resize(8); // sizes and reverse
    return result;
  }
};

variable_list layerOf(const Tensor &input, const Tensor &hx, const Tensor &cx,
                      const Tensor &inputWeight, const Tensor &weight,
                      const Optional &bias, const BatchSizes &sizes,
                      bool reverse) {
  return LstmLayer::apply(input, hx, cx, inputWeight, weight, bias, sizes,
                          reverse);
}

/// Nothing where ops are to be seen, or an error.
std::optional<Three> byLayers(const Layers &layers, const Tensor &input,
                              TensorList hx, TensorList params) {
  bool byOps = Layers::areUnderTransform(input, hx, params);
  // No projection, and no error to report.
  bool isOurs = input.device().is_lazy() &&
                (byOps || kernels::hasRecurrentLayers()) && hx.size() == 2 &&
                hx[0].sizes() == hx[1].sizes() &&
                layers.fit(input, hx, params, kGatesPerUnit, !byOps);
  if (!isOurs)
    return runOnHost(layers, "lstm", input, hx, params);
  std::vector<Tensor> hy, cy;
  Tensor x = layers.run(layers.timesFirst(input),
                        [&](const Tensor &input, int64_t number, bool reverse) {
                          TensorList own = layers.parametersOf(params, number);
                          Optional bias;
                          if (layers.hasBiases)
                            bias = own[2] + own[3];
                          variable_list made = (byOps ? recurrence : layerOf)(
                              input, hx[0][number], hx[1][number], own[0],
                              own[1], bias, layers.sizes, reverse);
                          hy.push_back(layers.sizes.last(made[0], reverse));
                          cy.push_back(made[1]);
                          return made[0];
                        });
  return Three{layers.asAsked(x), at::stack(hy), at::stack(cy)};
}

Three lstm(const Tensor &input, TensorList hx, TensorList params,
           bool hasBiases, int64_t count, double dropout, bool train,
           bool bidirectional, bool batchFirst) {
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  if (auto made = byLayers(layers, input, hx, params))
    return *made;
  return at::native::lstm(input, hx, params, hasBiases, count, dropout, train,
                          bidirectional, batchFirst);
}

Three lstmOfPacked(const Tensor &data, const Tensor &batchSizes, TensorList hx,
                   TensorList params, bool hasBiases, int64_t count,
                   double dropout, bool train, bool bidirectional) {
  if (auto layers = Layers::ofPacked(batchSizes, count, bidirectional,
                                     hasBiases, dropout, train))
    if (auto made = byLayers(*layers, data, hx, params))
      return *made;
  return at::native::lstm(data, batchSizes, hx, params, hasBiases, count,
                          dropout, train, bidirectional);
}

} // namespace

void registerLstm() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward>(
      "lstm_layer",
      {"input", "hx", "cx", "input_weight", "weight", "bias", "batch_sizes?"},
      {"reverse"}, {"output", "cells", "gates"});
  defineLayerOp<emptyBackward>("lstm_layer_backward",
                               {"gates", "cells", "cx", "weight", "grad_output",
                                "grad_cy", "batch_sizes?"},
                               {"reverse"}, {"grad_gates", "grad_cx"});
  defineLayerOp<emptyWeights>(
      "lstm_layer_weights",
      {"grad_gates", "input", "hx", "output", "batch_sizes?"}, {"reverse"},
      {"grad_input_weight", "grad_weight", "grad_bias"});
  defineLayerOp<emptyInput>("lstm_layer_input", {"grad_gates", "weight"}, {},
                            {"grad_input"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther}) {
    makeLibrary("aten", key)->impl("lstm.input", lstm);
    makeLibrary("aten", key)->impl("lstm.data", lstmOfPacked);
  }
}

} // namespace ltc::backend
