//===- ops/layer_op.h - Ops of our own for layers ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer that runs over times is one op of our own, with a kernel in the CPU's
// library; what it is differentiated by are others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/library.h"
#include "ltc_backend/record/ops/batch_sizes.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <functional>

namespace ltc::backend {

using Names = std::initializer_list<const char *>;

/// `name(Tensor <each>..., bool <flag>...) -> (Tensor <result>...)`. A tensor
/// whose name ends in a question mark may be missing; a flag whose name ends in
/// a dollar sign is a string. Not from text: PyTorch's parser of schemas is
/// TorchScript's.
c10::FunctionSchema schemaOf(const char *name, Names tensors, Names flags,
                             Names results);

/// The library that such ops are defined in.
torch::Library &layerOps();

/// Defines ltc::<name> by a function that allocates the results.
template <auto empty>
void defineLayerOp(const char *name, Names tensors, Names flags,
                   Names results) {
  static torch::Library *meta = makeLibrary("ltc", c10::DispatchKey::Meta);
  layerOps().def(schemaOf(name, tensors, flags, results));
  meta->impl(name, empty);
}

template <typename Signature> auto handleOf(const char *name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<Signature>();
}

/// A tensor of the sizes of `like` but for the last.
at::Tensor emptyWithLast(const at::Tensor &like, int64_t last);

/// Of a saved tensor that may have been missing.
inline std::optional<at::Tensor> given(const at::Tensor &saved) {
  return saved.defined() ? std::optional(saved) : std::nullopt;
}

/// The gradients of `outputs` with respect to those of `inputs` that ask for
/// one, in a place for each input; to be differentiated again.
torch::autograd::variable_list
gradientsOf(const torch::autograd::variable_list &outputs,
            const torch::autograd::variable_list &inputs,
            const torch::autograd::variable_list &grads);

/// The layers of a recurrent module.
struct Layers {
  int64_t count;
  bool isBidirectional, hasBiases, isBatchFirst;
  double dropout;
  bool train;
  BatchSizes sizes{};

  /// Of a packed sequence; none if its batch sizes are not valid.
  static std::optional<Layers> ofPacked(const at::Tensor &batchSizes,
                                        int64_t count, bool isBidirectional,
                                        bool hasBiases, double dropout,
                                        bool train);
  /// Whether somebody watches the tensors, so that ops are to be seen.
  static bool areUnderTransform(const at::Tensor &input, at::TensorList states,
                                at::TensorList parameters);
  /// Whether the input is of as many rows as the sequences have, and there are
  /// as many parameters, and states (N, B, H), as there are
  /// layers and directions, with sizes that go with each other, where a unit
  /// has so many `gates`; all of the input's device and dtype, which is float32
  /// for kernels, and any of floating point else. If the first state has other
  /// sizes than the second, it is a projection of the output.
  bool fit(const at::Tensor &input, at::TensorList states,
           at::TensorList parameters, int64_t gates, bool byKernels) const;

  int64_t directions() const { return isBidirectional ? 2 : 1; }

  /// Of one direction of one layer: weights of the input and of the state,
  /// their biases if there are any, and the weight of a projection.
  at::TensorList parametersOf(at::TensorList all, int64_t number) const {
    int64_t each = int64_t(all.size()) / (count * directions());
    return all.slice(number * each, each);
  }

  /// The input (T, B, N), or packed (R, N), of the first, and what the module
  /// gives of the like.
  at::Tensor timesFirst(const at::Tensor &input) const;
  at::Tensor asAsked(const at::Tensor &output) const;

  /// One direction of one layer, numbered: its output of its inputs.
  using Direction = std::function<at::Tensor(const at::Tensor &input,
                                             int64_t number, bool reverse)>;
  /// All of them, of which each reads what those before put out.
  at::Tensor run(at::Tensor input, const Direction &direction) const;
};

} // namespace ltc::backend
