//===- ops/layer_op.h - Ops of our own for layers ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer that runs over times is one op of our own, with a kernel on the CPU;
// what it is differentiated by are others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/library.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <functional>

namespace ltc::backend {

using Names = std::initializer_list<const char *>;

/// `name(Tensor <each>..., bool <flag>...) -> (Tensor <result>...)`, or with
/// `isOut` its variant that writes the results. Not from text: PyTorch's parser
/// of schemas is TorchScript's.
c10::FunctionSchema schemaOf(const char *name, Names tensors, Names flags,
                             Names results, bool isOut);

/// The library that such ops are defined in.
torch::Library &layerOps();

/// The op whose results `empty` allocates and `out` writes.
template <auto empty, auto out> struct OnCpu;
template <typename Results, typename... Arguments,
          Results (*empty)(Arguments...), auto out>
struct OnCpu<empty, out> {
  static Results run(Arguments... arguments) {
    Results results = empty(arguments...);
    if constexpr (std::is_same_v<Results, at::Tensor>)
      out(arguments..., results);
    else
      std::apply([&](auto &...each) { out(arguments..., each...); }, results);
    return results;
  }
};

/// Defines ltc::<name> and ltc::<name>.out by a function that allocates the
/// results and one that writes them.
template <auto empty, auto out>
void defineLayerOp(const std::string &name, Names tensors, Names flags,
                   Names results) {
  static torch::Library *cpu = makeLibrary("ltc", c10::DispatchKey::CPU),
                        *meta = makeLibrary("ltc", c10::DispatchKey::Meta);
  for (bool isOut : {false, true})
    layerOps().def(schemaOf(name.c_str(), tensors, flags, results, isOut));
  cpu->impl(name.c_str(), OnCpu<empty, out>::run);
  cpu->impl((name + ".out").c_str(), out);
  meta->impl(name.c_str(), empty);
}

template <typename Signature> auto handleOf(const char *name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<Signature>();
}

/// The gradients of `outputs` with respect to those of `inputs` that ask for
/// one, in a place for each input; to be differentiated again.
torch::autograd::variable_list
gradientsOf(const torch::autograd::variable_list &outputs,
            const torch::autograd::variable_list &inputs,
            const torch::autograd::variable_list &grads);

/// The states that the times of a layer (T, B, H) begin with: `hx` (B, H) and
/// outputs.
at::Tensor statesBefore(const at::Tensor &output, const at::Tensor &hx,
                        bool reverse);

/// The layers of a recurrent module.
struct Layers {
  int64_t count;
  bool isBidirectional, hasBiases, isBatchFirst;
  double dropout;
  bool train;

  /// Whether somebody watches the tensors, so that ops are to be seen.
  static bool areWatched(const at::Tensor &input, at::TensorList states,
                         at::TensorList parameters);
  /// Whether there are as many parameters, and states (N, B, H), as there are
  /// layers and directions, with sizes that go with each other, where a unit
  /// has so many `gates`; all of the input's device and dtype, which is float32
  /// for kernels, and any of floating point for ops.
  bool fit(const at::Tensor &input, at::TensorList states,
           at::TensorList parameters, int64_t gates, bool byKernels) const;

  /// Weights of the input and of the state, and their biases if there are any.
  at::TensorList parametersOf(at::TensorList all, int64_t number) const {
    int64_t each = hasBiases ? 4 : 2;
    return all.slice(number * each, each);
  }

  /// The input (T, B, N) of the first, and what the module gives of (T, B, N).
  at::Tensor timesFirst(const at::Tensor &input) const;
  at::Tensor asAsked(const at::Tensor &output) const;

  /// One direction of one layer, numbered: its output (T, B, H) of its inputs.
  using Direction = std::function<at::Tensor(const at::Tensor &input,
                                             int64_t number, bool reverse)>;
  /// All of them, of which each reads what those before put out.
  at::Tensor run(at::Tensor input, const Direction &direction) const;

  /// One direction of one layer: its output (T, B, H) of its inputs' products
  /// with their weight, for all times, and of what the state takes.
  using Recurrence = std::function<at::Tensor(
      const at::Tensor &projected, const at::Tensor &hx,
      const at::Tensor &weight, const std::optional<at::Tensor> &bias,
      bool reverse)>;
  /// The output and the last states of a module of one state a layer.
  std::tuple<at::Tensor, at::Tensor>
  runProjected(const at::Tensor &input, const at::Tensor &hx,
               at::TensorList parameters, const Recurrence &recurrence) const;

private:
  int64_t directions() const { return isBidirectional ? 2 : 1; }
};

} // namespace ltc::backend
