//===- ops/gru_op.cpp - GRUs as one call a layer --------------------------===//
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
#include "ltc_backend/record/ops/gru_op.h"

#include "ltc_backend/record/ops/projected_layer.h"

#include "ltc/cpu_kernels.h"
#include "ltc/recurrent.h"

#include <ATen/ATen.h>
#include <ATen/ops/gru_native.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Optional = std::optional<Tensor>;

namespace {

Two emptyForward(const Tensor &projected, const Tensor &hx,
                 const Tensor &weight, const Tensor &bias,
                 const Optional &batchSizes, bool reverse) {
  int64_t hidden = hx.size(1);
  return {emptyWithLast(projected, hidden),
          emptyWithLast(projected, (kGruGates + 1) * hidden)};
}

Three emptyBackward(const Tensor &gates, const Tensor &output, const Tensor &hx,
                    const Tensor &weight, const Tensor &gradOutput,
                    const Optional &batchSizes, bool reverse) {
  Tensor products = emptyWithLast(output, kGruGates * output.size(-1));
  return {products, at::empty_like(products), hx.new_empty(hx.sizes())};
}

/// One direction of one layer by ops.
Tensor recurrence(const Tensor &projected, const Tensor &hx,
                  const Tensor &weight, const Optional &bias,
                  const BatchSizes &sizes, bool reverse) {
  variable_list made = sizes.recur(
      projected, {hx}, reverse,
      [&](const Tensor &rows, const variable_list &before) -> variable_list {
        auto ofInput = rows.chunk(kGruGates, 1);
        auto ofState = at::linear(before[0], weight, bias).chunk(kGruGates, 1);
        Tensor reset = (ofInput[0] + ofState[0]).sigmoid();
        Tensor update = (ofInput[1] + ofState[1]).sigmoid();
        Tensor made = (ofInput[2] + ofState[2] * reset).tanh();
        return {(before[0] - made) * update + made};
      });
  return made[0];
}

/// The output of (projected, hx, w_hh, b_hh, sizes, reverse).
struct GruLayer : torch::autograd::Function<GruLayer> {
  static Tensor forward(AutogradContext *context, const Tensor &projected,
                        const Tensor &hx, const Tensor &weight,
                        const Optional &bias, const BatchSizes &sizes,
                        bool reverse) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::gru_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    Optional batchSizes = sizes.tensorFor(projected);
    auto [output, gates] =
        op.call(projected, hx, weight,
                bias ? *bias : at::zeros({weight.size(0)}, weight.options()),
                batchSizes, reverse);
    context->saved_data["reverse"] = reverse;
    context->saved_data["sizes"] = sizes.tensor();
    context->save_for_backward({projected, hx, weight, bias.value_or(Tensor()),
                                output, gates, batchSizes.value_or(Tensor())});
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
    BatchSizes sizes(context->saved_data["sizes"].toTensor());
    if (at::GradMode::is_enabled()) {
      variable_list inputs(saved.begin(), saved.begin() + 4);
      Tensor again =
          recurrence(saved[0], hx, weight, given(bias), sizes, reverse);
      variable_list result = gradientsOf({again}, inputs, grads);
      result.resize(6); // sizes and reverse
      return result;
    }
    auto [gradProjected, gradProducts, gradHx] =
        op.call(gates, output, hx, weight, grads[0], given(saved[6]), reverse);
    variable_list result{gradProjected, gradHx, {}, {}, {}, {}};
    Tensor rows = gradProducts.flatten(0, -2);
    if (context->needs_input_grad(2))
      result[2] = rows.t().mm(sizes.before(output, hx, reverse));
    if (bias.defined() && context->needs_input_grad(3))
      result[3] = rows.sum(0);
    return result;
  }
};

Tensor layerOf(const Tensor &projected, const Tensor &hx, const Tensor &weight,
               const Optional &bias, const BatchSizes &sizes, bool reverse) {
  return GruLayer::apply(projected, hx, weight, bias, sizes, reverse);
}

const ProjectedLayer unit{"gru", kGruGates, kernels::hasRecurrentLayers,
                          layerOf, recurrence};

Two gru(const Tensor &input, const Tensor &hx, TensorList params,
        bool hasBiases, int64_t count, double dropout, bool train,
        bool bidirectional, bool batchFirst) {
  Layers layers{count, bidirectional, hasBiases, batchFirst, dropout, train};
  if (auto made = unit.run(layers, input, hx, params))
    return *made;
  return at::native::gru(input, hx, params, hasBiases, count, dropout, train,
                         bidirectional, batchFirst);
}

Two gruOfPacked(const Tensor &data, const Tensor &batchSizes, const Tensor &hx,
                TensorList params, bool hasBiases, int64_t count,
                double dropout, bool train, bool bidirectional) {
  if (auto layers = Layers::ofPacked(batchSizes, count, bidirectional,
                                     hasBiases, dropout, train))
    if (auto made = unit.run(*layers, data, hx, params))
      return *made;
  return at::native::gru(data, batchSizes, hx, params, hasBiases, count,
                         dropout, train, bidirectional);
}

} // namespace

void registerGru() {
  using c10::DispatchKey;
  defineLayerOp<emptyForward>(
      "gru_layer", {"projected", "hx", "weight", "bias", "batch_sizes?"},
      {"reverse"}, {"output", "gates"});
  defineLayerOp<emptyBackward>(
      "gru_layer_backward",
      {"gates", "output", "hx", "weight", "grad_output", "batch_sizes?"},
      {"reverse"}, {"grad_projected", "grad_products", "grad_hx"});
  // Not below functionalisation: the composite kernel writes in place. The
  // wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key : {DispatchKey::Functionalize, DispatchKey::AutogradLazy,
                          DispatchKey::AutogradOther}) {
    makeLibrary("aten", key)->impl("gru.input", gru);
    makeLibrary("aten", key)->impl("gru.data", gruOfPacked);
  }
}

} // namespace ltc::backend
