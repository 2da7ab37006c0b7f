//===- ops/host_layer.h - Recurrent layers by PyTorch's kernels -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer without kernels of ours, such as one in double precision or with a
// projection, would be a dozen ops a time, hence another graph for each length.
// It is one call instead, in which PyTorch's CPU kernels do it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/ops/layer_op.h"

namespace ltc::backend {

/// The output and last states, one or two as there are `states`, of a module
/// whose name in ATen is `module`: lstm, gru, rnn_tanh or rnn_relu. Nothing
/// where operands do not fit each other, or a transform or autocast wants to
/// see ops.
std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>>
runOnHost(const Layers &layers, std::string_view module,
          const at::Tensor &input, at::TensorList states,
          at::TensorList parameters);

/// Defines ltc::recurrent_layer and ltc::recurrent_layer_backward.
void registerHostLayers();

} // namespace ltc::backend
