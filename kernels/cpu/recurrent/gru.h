//===- gru.h - One layer of a GRU over all its times ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

namespace ltc::kernels {

/// What one direction of one layer is made from: times T, batch B, hidden units
/// H, all float32 on the CPU. Gates are in PyTorch's order: reset, update, new.
struct GruInputs {
  TensorView projected; ///< (T, B, 3H): the inputs times their weight, and bias
  TensorView hx;        ///< (B, H), the state before the first time
  TensorView weight;    ///< (3H, H), for the state before
  TensorView bias;      ///< (3H), added to that product
  TensorView batchSizes; ///< undefined, or of packed sequences (T): see lstm.h
};

/// Writes `output` (T, B, H), and for the backward `gates` (T, B, 4H): the
/// three gates after their functions, and the state's share in the new one
/// before the reset. With `reverse`, time runs down. The number of threads
/// changes no value, here and below.
void gruLayer(const GruInputs &from, bool reverse, const TensorView &output,
              const TensorView &gates);

/// From the gradients with respect to `output`: those of `projected`, of the
/// state's products and bias `gradProducts` (T, B, 3H), and of `hx`.
void gruLayerBackward(const TensorView &gates, const TensorView &output,
                      const TensorView &hx, const TensorView &weight,
                      const TensorView &gradOutput,
                      const TensorView &batchSizes, bool reverse,
                      const TensorView &gradProjected,
                      const TensorView &gradProducts, const TensorView &gradHx);

} // namespace ltc::kernels
