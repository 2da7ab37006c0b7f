//===- kernels/gru.h - One layer of a GRU over all its times ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether this processor has the kernels below.
bool hasGruLayer();

/// What one direction of one layer is made from: times T, batch B, hidden units
/// H, all float32 on the CPU. Gates are in PyTorch's order: reset, update, new.
struct GruInputs {
  at::Tensor projected; ///< (T, B, 3H): the inputs times their weight, and bias
  at::Tensor hx;        ///< (B, H), the state before the first time
  at::Tensor weight;    ///< (3H, H), for the state before
  at::Tensor bias;      ///< (3H), added to that product
  at::Tensor batchSizes; ///< undefined, or of packed sequences (T): see lstm.h
};

/// Writes `output` (T, B, H), and for the backward `gates` (T, B, 4H): the
/// three gates after their functions, and the state's share in the new one
/// before the reset. With `reverse`, time runs down. The number of threads
/// changes no value, here and below.
void gruLayer(const GruInputs &from, bool reverse, at::Tensor &output,
              at::Tensor &gates);

/// From the gradients with respect to `output`: those of `projected`, of the
/// state's products and bias `gradProducts` (T, B, 3H), and of `hx`.
void gruLayerBackward(const at::Tensor &gates, const at::Tensor &output,
                      const at::Tensor &hx, const at::Tensor &weight,
                      const at::Tensor &gradOutput,
                      const at::Tensor &batchSizes, bool reverse,
                      at::Tensor &gradProjected, at::Tensor &gradProducts,
                      at::Tensor &gradHx);

} // namespace ltc::backend
