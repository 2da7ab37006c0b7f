//===- rnn.h - One layer of an RNN over all its times -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

namespace ltc::kernels {

/// What one direction of one layer is made from: times T, batch B, hidden units
/// H, all float32 on the CPU.
struct RnnInputs {
  TensorView projected;  ///< (T, B, H): the inputs times their weight, and bias
  TensorView hx;         ///< (B, H), the state before the first time
  TensorView weight;     ///< (H, H), for the state before
  TensorView bias;       ///< (H), added to that product
  TensorView batchSizes; ///< undefined, or of packed sequences (T): see lstm.h
};

/// Writes `output` (T, B, H): tanh, or with `relu` that, of the sum. With
/// `reverse`, time runs down. The number of threads changes no value, here and
/// below.
void rnnLayer(const RnnInputs &from, bool relu, bool reverse,
              const TensorView &output);

/// From the gradients with respect to `output`: those of the sums, `gradSums`
/// (T, B, H), and of `hx`.
void rnnLayerBackward(const TensorView &output, const TensorView &weight,
                      const TensorView &gradOutput,
                      const TensorView &batchSizes, bool relu, bool reverse,
                      const TensorView &gradSums, const TensorView &gradHx);

} // namespace ltc::kernels
