//===- layer_calls.cpp - Layers over times as a graph calls them ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front end defines these ops, and the lowering gives them dense operands.
//
//===----------------------------------------------------------------------===//
#include "recurrent/gru.h"
#include "recurrent/lstm.h"
#include "recurrent/rnn.h"
#include "rows.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ltc::kernels {
namespace {

/// The arguments of one run. Of packed sequences the last tensor, batch_sizes,
/// is there.
struct Given {
  std::vector<TensorView> tensors;
  bool reverse, relu;

  const TensorView &operator[](size_t i) const { return tensors[i]; }
};

/// What a layer is called with.
struct Layer {
  std::string_view op;
  std::array<std::string_view, 7> tensors; ///< empty ones are behind the last
  /// Of the tensor that has a row for each row of the packed sequences.
  size_t states;
  void (*run)(const Given &of, Views to);
};

constexpr Layer kLayers[] = {
    {"ltc::lstm_layer",
     {"input", "hx", "cx", "input_weight", "weight", "bias", "batch_sizes"},
     0,
     [](const Given &of, Views to) {
       lstmLayer({of[0], of[1], of[2], of[3], of[4], of[5], of[6]}, of.reverse,
                 to[0], to[1], to[2]);
     }},
    {"ltc::lstm_layer_backward",
     {"gates", "cells", "cx", "weight", "grad_output", "grad_cy",
      "batch_sizes"},
     1,
     [](const Given &of, Views to) {
       lstmLayerBackward(of[0], of[1], of[2], of[3], of[4], of[5], of[6],
                         of.reverse, to[0], to[1]);
     }},
    {"ltc::lstm_layer_weights",
     {"grad_gates", "input", "hx", "output", "batch_sizes"},
     1,
     [](const Given &of, Views to) {
       lstmLayerWeights(of[0], of[1], of[2], of[3], of[4], of.reverse, to[0],
                        to[1], to[2]);
     }},
    {"ltc::lstm_layer_input",
     {"grad_gates", "weight"},
     0,
     [](const Given &of, Views to) { lstmLayerInput(of[0], of[1], to[0]); }},
    {"ltc::gru_layer",
     {"projected", "hx", "weight", "bias", "batch_sizes"},
     0,
     [](const Given &of, Views to) {
       gruLayer({of[0], of[1], of[2], of[3], of[4]}, of.reverse, to[0], to[1]);
     }},
    {"ltc::gru_layer_backward",
     {"gates", "output", "hx", "weight", "grad_output", "batch_sizes"},
     1,
     [](const Given &of, Views to) {
       gruLayerBackward(of[0], of[1], of[2], of[3], of[4], of[5], of.reverse,
                        to[0], to[1], to[2]);
     }},
    {"ltc::rnn_layer",
     {"projected", "hx", "weight", "bias", "batch_sizes"},
     0,
     [](const Given &of, Views to) {
       rnnLayer({of[0], of[1], of[2], of[3], of[4]}, of.relu, of.reverse,
                to[0]);
     }},
    {"ltc::rnn_layer_backward",
     {"output", "weight", "grad_output", "batch_sizes"},
     0,
     [](const Given &of, Views to) {
       rnnLayerBackward(of[0], of[1], of[2], of[3], of.relu, of.reverse, to[0],
                        to[1]);
     }},
};

class BoundLayer final : public OwnKernel {
public:
  BoundLayer(const Layer &layer, const Arguments &of)
      : layer(layer), given{{}, of.flag("reverse"), of.flag("relu")} {
    for (std::string_view name : layer.tensors)
      if (!name.empty())
        arguments.push_back(of.tensor(name));
    given.tensors.resize(arguments.size());
  }

  bool run(Views operands, Views results) override {
    for (size_t i = 0; i < arguments.size(); ++i)
      given.tensors[i] = arguments[i].in(operands);
    if (!std::ranges::all_of(given.tensors, &TensorView::isDense) ||
        !isWhole(given.tensors.back()))
      return false;
    layer.run(given, results);
    return true;
  }

private:
  /// Whether the batches, if that is what these are, have as many rows as there
  /// are.
  bool isWhole(const TensorView &batchSizes) const {
    if (!batchSizes.isDefined() || batchSizes.dtype != DType::I64)
      return true;
    auto *sizes = batchSizes.as<int64_t>();
    return std::accumulate(sizes, sizes + batchSizes.elements(), int64_t(0)) ==
           given.tensors[layer.states].size(0);
  }

  const Layer &layer;
  std::vector<Operand> arguments;
  Given given;
};

} // namespace

std::unique_ptr<OwnKernel> bindLayer(const Graph &call) {
  const Layer *layer = std::ranges::find(kLayers, call.nodes[0].op, &Layer::op);
  return std::make_unique<BoundLayer>(*layer, Arguments(call));
}

} // namespace ltc::kernels
