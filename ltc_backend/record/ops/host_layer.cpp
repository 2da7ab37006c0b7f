//===- ops/host_layer.cpp - Recurrent layers by PyTorch's kernels ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/host_layer.h"

#include "ltc_backend/record/ops/autocast.h"

#include <ATen/ATen.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace ltc::backend {
using at::Tensor;
using at::TensorList;
using c10::string_view;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Optional = std::optional<Tensor>;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

namespace {

/// One layer of a module, with one direction or two. Input (T, B, N), or packed
/// (R, N) with the `batchSizes` (T); states (D, B, H), `cx` of an LSTM.
struct Layer {
  const Tensor &input, &hx;
  const Optional &cx, &batchSizes;
  bool hasBiases, isBidirectional;
};

/// How ATen does a layer, of any device's tensors: output, hy and cy.
using Native = Three (*)(const Layer &layer, TensorList parameters);

Three lstm(const Layer &of, TensorList parameters) {
  std::array<Tensor, 2> states{of.hx, *of.cx};
  if (of.batchSizes)
    return at::native::lstm(of.input, *of.batchSizes, states, parameters,
                            of.hasBiases, 1, 0, false, of.isBidirectional);
  return at::native::lstm(of.input, states, parameters, of.hasBiases, 1, 0,
                          false, of.isBidirectional, /*batch_first=*/false);
}

using OfAll = Two (*)(const Tensor &, const Tensor &, TensorList, bool, int64_t,
                      double, bool, bool, bool);
using OfPacked = Two (*)(const Tensor &, const Tensor &, const Tensor &,
                         TensorList, bool, int64_t, double, bool, bool);

template <OfAll ofAll, OfPacked ofPacked>
Three ofOneState(const Layer &of, TensorList parameters) {
  auto [output, hy] =
      of.batchSizes ? ofPacked(of.input, *of.batchSizes, of.hx, parameters,
                               of.hasBiases, 1, 0, false, of.isBidirectional)
                    : ofAll(of.input, of.hx, parameters, of.hasBiases, 1, 0,
                            false, of.isBidirectional, /*batch_first=*/false);
  return {output, hy, of.input.new_empty({0})};
}

struct Module {
  std::string_view name;
  int64_t gates;
  Native native;
};

constexpr Module kModules[] = {
    {"lstm", 4, lstm},
    {"gru", 3, ofOneState<at::native::gru, at::native::gru>},
    {"rnn_tanh", 1, ofOneState<at::native::rnn_tanh, at::native::rnn_tanh>},
    {"rnn_relu", 1, ofOneState<at::native::rnn_relu, at::native::rnn_relu>},
};

const Module &moduleOf(std::string_view name) {
  return *std::ranges::find(kModules, name, &Module::name);
}

/// The parameters that `joined` is made of, in the order of parametersOf().
std::vector<Tensor> separate(const Tensor &joined, const Layer &of,
                             int64_t gates) {
  int64_t hidden = (of.cx ? *of.cx : of.hx).size(-1), out = of.hx.size(-1);
  int64_t rows = gates * hidden, begin = 0;
  std::vector<Tensor> parts;
  auto take = [&](at::IntArrayRef sizes) {
    int64_t count = c10::multiply_integers(sizes);
    parts.push_back(joined.narrow(0, begin, count).view(sizes));
    begin += count;
  };
  for (int64_t way = 0; way < of.hx.size(0); ++way) {
    take({rows, of.input.size(-1)});
    take({rows, out});
    if (of.hasBiases) {
      take({rows});
      take({rows});
    }
    if (out != hidden)
      take({out, hidden});
  }
  return parts;
}

Tensor join(TensorList parameters) {
  std::vector<Tensor> flat;
  for (const Tensor &parameter : parameters)
    flat.push_back(parameter.flatten());
  return at::cat(flat);
}

Three emptyForward(const Tensor &input, const Tensor &hx, const Optional &cx,
                   const Tensor &parameters, const Optional &batchSizes,
                   string_view module, bool hasBiases, bool bidirectional) {
  return {emptyWithLast(input, hx.size(0) * hx.size(-1)), at::empty_like(hx),
          cx ? at::empty_like(*cx) : input.new_empty({0})};
}

Three forwardOnCpu(const Tensor &input, const Tensor &hx, const Optional &cx,
                   const Tensor &parameters, const Optional &batchSizes,
                   string_view module, bool hasBiases, bool bidirectional) {
  const Module &is = moduleOf(module);
  Layer layer{input, hx, cx, batchSizes, hasBiases, bidirectional};
  return is.native(layer, separate(parameters, layer, is.gates));
}

Four emptyBackward(const Tensor &gradOutput, const Tensor &gradHy,
                   const Optional &gradCy, const Tensor &input,
                   const Tensor &hx, const Optional &cx,
                   const Tensor &parameters, const Optional &batchSizes,
                   string_view module, bool hasBiases, bool bidirectional) {
  return {at::empty_like(input), at::empty_like(hx),
          cx ? at::empty_like(*cx) : input.new_empty({0}),
          at::empty_like(parameters)};
}

/// The same memory as what autograd takes for a leaf.
Tensor leafOf(const Tensor &tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options())
      .requires_grad_();
}

/// Does the layer once more, which takes less than keeping each time's values
/// would.
Four backwardOnCpu(const Tensor &gradOutput, const Tensor &gradHy,
                   const Optional &gradCy, const Tensor &input,
                   const Tensor &hx, const Optional &cx,
                   const Tensor &parameters, const Optional &batchSizes,
                   string_view module, bool hasBiases, bool bidirectional) {
  c10::InferenceMode off(false);
  at::AutoGradMode on(true);
  const Module &is = moduleOf(module);
  variable_list leaves{leafOf(input), leafOf(hx), leafOf(parameters)};
  variable_list grads{gradOutput, gradHy};
  Optional cells;
  if (cx) {
    cells = leafOf(*cx);
    leaves.push_back(*cells);
    grads.push_back(*gradCy);
  }
  Layer layer{leaves[0],  leaves[1], cells,
              batchSizes, hasBiases, bidirectional};
  auto [output, hy, cy] =
      is.native(layer, separate(leaves[2], layer, is.gates));
  variable_list outputs{output, hy};
  if (cx)
    outputs.push_back(cy);
  variable_list found = torch::autograd::grad(outputs, leaves, grads);
  return {found[0], found[1], cx ? found[3] : input.new_empty({0}), found[2]};
}

/// (output, hy, cy) of (input, hx, cx, parameters, sizes, module, has_biases,
/// bidirectional).
struct HostLayer : torch::autograd::Function<HostLayer> {
  static variable_list forward(AutogradContext *context, const Tensor &input,
                               const Tensor &hx, const Optional &cx,
                               const Tensor &parameters,
                               const BatchSizes &sizes, std::string_view module,
                               bool hasBiases, bool bidirectional) {
    static auto op = handleOf<decltype(emptyForward)>("ltc::recurrent_layer");
    at::AutoDispatchBelowADInplaceOrView below;
    Optional batchSizes = sizes.tensorFor(input);
    auto [output, hy, cy] = op.call(input, hx, cx, parameters, batchSizes,
                                    module, hasBiases, bidirectional);
    context->saved_data["sizes"] = sizes.tensor();
    context->saved_data["module"] = std::string(module);
    context->saved_data["has_biases"] = hasBiases;
    context->saved_data["bidirectional"] = bidirectional;
    context->save_for_backward({input, hx, cx.value_or(Tensor()), parameters,
                                batchSizes.value_or(Tensor())});
    return {output, hy, cy};
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &grads) {
    static auto op =
        handleOf<decltype(emptyBackward)>("ltc::recurrent_layer_backward");
    auto saved = context->get_saved_variables();
    const Tensor &input = saved[0], &hx = saved[1], &parameters = saved[3];
    Optional cx = given(saved[2]), batchSizes = given(saved[4]);
    std::string module = context->saved_data["module"].toStringRef();
    bool hasBiases = context->saved_data["has_biases"].toBool();
    bool bidirectional = context->saved_data["bidirectional"].toBool();
    variable_list result(8);          // from `sizes` on there is nothing to say
    if (at::GradMode::is_enabled()) { // for gradients of gradients
      const Module &is = moduleOf(module);
      Optional onCpu = given(context->saved_data["sizes"].toTensor());
      Layer layer{input, hx, cx, onCpu, hasBiases, bidirectional};
      auto [output, hy, cy] =
          is.native(layer, separate(parameters, layer, is.gates));
      variable_list inputs(saved.begin(), saved.begin() + 4);
      variable_list outputs{output, hy}, ofOutputs{grads[0], grads[1]};
      if (cx) {
        outputs.push_back(cy);
        ofOutputs.push_back(grads[2]);
      }
      std::ranges::copy(gradientsOf(outputs, inputs, ofOutputs),
                        result.begin());
      return result;
    }
    auto [ofInput, ofHx, ofCx, ofParameters] = op.call(
        grads[0], grads[1], cx ? Optional(grads[2]) : std::nullopt, input, hx,
        cx, parameters, batchSizes, module, hasBiases, bidirectional);
    result[0] = ofInput;
    result[1] = ofHx;
    if (cx)
      result[2] = ofCx;
    result[3] = ofParameters;
    return result;
  }
};

} // namespace

std::optional<Three> runOnHost(const Layers &layers, std::string_view module,
                               const Tensor &input, TensorList states,
                               TensorList parameters) {
  bool isLstm = module == "lstm";
  if (!input.device().is_lazy() || isAutocastEnabled() ||
      states.size() != (isLstm ? 2 : 1) ||
      Layers::areUnderTransform(input, states, parameters) ||
      !layers.fit(input, states, parameters, moduleOf(module).gates,
                  /*byKernels=*/false))
    return std::nullopt;
  int64_t ways = layers.directions();
  int64_t each = int64_t(parameters.size()) / layers.count;
  std::vector<Tensor> hy, cy;
  Tensor x = layers.timesFirst(input);
  for (int64_t layer = 0; layer < layers.count; ++layer) {
    auto own = [&](const Tensor &all) {
      return all.narrow(0, layer * ways, ways);
    };
    Optional cx;
    if (isLstm)
      cx = own(states[1]);
    variable_list made = HostLayer::apply(
        x, own(states[0]), cx, join(parameters.slice(layer * each, each)),
        layers.sizes, module, layers.hasBiases, layers.isBidirectional);
    x = made[0];
    hy.push_back(made[1]);
    cy.push_back(made[2]);
    if (layers.dropout != 0 && layers.train && layer + 1 < layers.count)
      x = at::dropout(x, layers.dropout, layers.train);
  }
  return Three{layers.asAsked(x), at::cat(hy), at::cat(cy)};
}

void registerHostLayers() {
  defineLayerOp<emptyForward>(
      "recurrent_layer", {"input", "hx", "cx?", "parameters", "batch_sizes?"},
      {"module$", "has_biases", "bidirectional"}, {"output", "hy", "cy"});
  defineLayerOp<emptyBackward>(
      "recurrent_layer_backward",
      {"grad_output", "grad_hy", "grad_cy?", "input", "hx", "cx?", "parameters",
       "batch_sizes?"},
      {"module$", "has_biases", "bidirectional"},
      {"grad_input", "grad_hx", "grad_cx", "grad_parameters"});
  torch::Library *cpu = makeLibrary("ltc", c10::DispatchKey::CPU);
  cpu->impl("recurrent_layer", forwardOnCpu);
  cpu->impl("recurrent_layer_backward", backwardOnCpu);
}

} // namespace ltc::backend
