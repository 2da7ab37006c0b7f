//===- kernels/rnn.h - One layer of an RNN over all its times ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether this processor has the kernels below.
bool hasRnnLayer();

/// What one direction of one layer is made from: times T, batch B, hidden units
/// H, all float32 on the CPU.
struct RnnInputs {
  at::Tensor projected;  ///< (T, B, H): the inputs times their weight, and bias
  at::Tensor hx;         ///< (B, H), the state before the first time
  at::Tensor weight;     ///< (H, H), for the state before
  at::Tensor bias;       ///< (H), added to that product
  at::Tensor batchSizes; ///< undefined, or of packed sequences (T): see lstm.h
};

/// Writes `output` (T, B, H): tanh, or with `relu` that, of the sum. With
/// `reverse`, time runs down. The number of threads changes no value, here and
/// below.
void rnnLayer(const RnnInputs &from, bool relu, bool reverse,
              at::Tensor &output);

/// From the gradients with respect to `output`: those of the sums, `gradSums`
/// (T, B, H), and of `hx`.
void rnnLayerBackward(const at::Tensor &output, const at::Tensor &weight,
                      const at::Tensor &gradOutput,
                      const at::Tensor &batchSizes, bool relu, bool reverse,
                      at::Tensor &gradSums, at::Tensor &gradHx);

} // namespace ltc::backend
