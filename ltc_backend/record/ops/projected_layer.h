//===- ops/projected_layer.h - Layers of one state --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GRU's and an RNN's layer is a product of all its inputs with their weight,
// and then a call that goes through the times.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/ops/layer_op.h"

namespace ltc::backend {

/// One direction of one layer: its output of its inputs' products
/// with their weight, for all times, and of what the state takes.
using Recurrence = at::Tensor (*)(const at::Tensor &projected,
                                  const at::Tensor &hx,
                                  const at::Tensor &weight,
                                  const std::optional<at::Tensor> &bias,
                                  const BatchSizes &sizes, bool reverse);

/// What a module of one state a layer is made of.
struct ProjectedLayer {
  std::string_view module; ///< its name in ATen
  int64_t gates;
  bool (*hasKernels)();
  Recurrence byKernels, byOps;

  /// The output and last states of such layers; nothing where ops are to be
  /// seen, or an error.
  std::optional<std::tuple<at::Tensor, at::Tensor>>
  run(const Layers &layers, const at::Tensor &input, const at::Tensor &hx,
      at::TensorList parameters) const;
};

} // namespace ltc::backend
