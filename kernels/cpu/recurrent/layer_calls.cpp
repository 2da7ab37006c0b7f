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

using Names = std::initializer_list<const char *>;
using Run = void (*)(const Given &of, Views to);

class Layer final : public OwnKernel {
public:
  /// `states`: the number of an operand that has a row for each row of the
  /// packed sequences.
  Layer(const Graph &call, Names names, size_t states, Run layer)
      : states(states), layer(layer) {
    Arguments of(call);
    given.reverse = of.flag("reverse");
    given.relu = of.flag("relu");
    for (const char *name : names)
      arguments.push_back(of.tensor(name));
    given.tensors.resize(arguments.size());
  }

  bool run(Views operands, Views results) override {
    for (size_t i = 0; i < arguments.size(); ++i)
      given.tensors[i] = arguments[i].in(operands);
    if (!std::ranges::all_of(given.tensors, &TensorView::isDense) ||
        !isWhole(given.tensors.back()))
      return false;
    layer(given, results);
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
           given.tensors[states].size(0);
  }

  std::vector<Operand> arguments;
  const size_t states;
  const Run layer;
  Given given;
};

} // namespace

std::unique_ptr<OwnKernel> bindLstm(const Graph &call) {
  return std::make_unique<Layer>(
      call,
      Names{"input", "hx", "cx", "input_weight", "weight", "bias",
            "batch_sizes"},
      0, [](const Given &of, Views to) {
        lstmLayer({of[0], of[1], of[2], of[3], of[4], of[5], of[6]}, of.reverse,
                  to[0], to[1], to[2]);
      });
}

std::unique_ptr<OwnKernel> bindLstmBackward(const Graph &call) {
  return std::make_unique<Layer>(call,
                                 Names{"gates", "cells", "cx", "weight",
                                       "grad_output", "grad_cy", "batch_sizes"},
                                 1, [](const Given &of, Views to) {
                                   lstmLayerBackward(of[0], of[1], of[2], of[3],
                                                     of[4], of[5], of[6],
                                                     of.reverse, to[0], to[1]);
                                 });
}

std::unique_ptr<OwnKernel> bindLstmWeights(const Graph &call) {
  return std::make_unique<Layer>(
      call, Names{"grad_gates", "input", "hx", "output", "batch_sizes"}, 1,
      [](const Given &of, Views to) {
        lstmLayerWeights(of[0], of[1], of[2], of[3], of[4], of.reverse, to[0],
                         to[1], to[2]);
      });
}

std::unique_ptr<OwnKernel> bindLstmInput(const Graph &call) {
  return std::make_unique<Layer>(
      call, Names{"grad_gates", "weight"}, 0,
      [](const Given &of, Views to) { lstmLayerInput(of[0], of[1], to[0]); });
}

std::unique_ptr<OwnKernel> bindGru(const Graph &call) {
  return std::make_unique<Layer>(
      call, Names{"projected", "hx", "weight", "bias", "batch_sizes"}, 0,
      [](const Given &of, Views to) {
        gruLayer({of[0], of[1], of[2], of[3], of[4]}, of.reverse, to[0], to[1]);
      });
}

std::unique_ptr<OwnKernel> bindGruBackward(const Graph &call) {
  return std::make_unique<Layer>(
      call,
      Names{"gates", "output", "hx", "weight", "grad_output", "batch_sizes"}, 1,
      [](const Given &of, Views to) {
        gruLayerBackward(of[0], of[1], of[2], of[3], of[4], of[5], of.reverse,
                         to[0], to[1], to[2]);
      });
}

std::unique_ptr<OwnKernel> bindRnn(const Graph &call) {
  return std::make_unique<Layer>(
      call, Names{"projected", "hx", "weight", "bias", "batch_sizes"}, 0,
      [](const Given &of, Views to) {
        rnnLayer({of[0], of[1], of[2], of[3], of[4]}, of.relu, of.reverse,
                 to[0]);
      });
}

std::unique_ptr<OwnKernel> bindRnnBackward(const Graph &call) {
  return std::make_unique<Layer>(
      call, Names{"output", "weight", "grad_output", "batch_sizes"}, 0,
      [](const Given &of, Views to) {
        rnnLayerBackward(of[0], of[1], of[2], of[3], of.relu, of.reverse, to[0],
                         to[1]);
      });
}

} // namespace ltc::kernels
