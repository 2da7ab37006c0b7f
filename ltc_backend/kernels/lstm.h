//===- kernels/lstm.h - One layer of an LSTM over all its times -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether this processor has the kernels below.
bool hasLstmLayer();

/// What one direction of one layer is made from: times T, batch B, features I,
/// hidden units H, all float32 on the CPU. Instead of (T, B), all tensors of
/// this header may have one dimension of rows, of packed sequences, with as
/// many for each time as `batchSizes` says (see RecurrentSteps), which else is
/// undefined.
struct LstmInputs {
  at::Tensor input;       ///< (T, B, I)
  at::Tensor hx, cx;      ///< (B, H), the states before the first time
  at::Tensor inputWeight; ///< (4H, I)
  at::Tensor weight;      ///< (4H, H), for the output before
  at::Tensor bias;        ///< (4H)
  at::Tensor batchSizes;  ///< undefined, or (T)
};

/// Writes `output` and `cells` (T, B, H), and for the backward `gates`
/// (lstmUnitBlocks(H), T, B, kLstmGates) after their functions. With `reverse`,
/// time runs down. The number of threads changes no value, here and below.
void lstmLayer(const LstmInputs &from, bool reverse, at::Tensor &output,
               at::Tensor &cells, at::Tensor &gates);

/// Its gradients with respect to `cx` and to the sums of products and bias that
/// the gates are functions of, `gradGates`, which may be `gates`; from those
/// with respect to `output` (T, B, H) and to the cells' last state (B, H).
void lstmLayerBackward(const at::Tensor &gates, const at::Tensor &cells,
                       const at::Tensor &cx, const at::Tensor &weight,
                       const at::Tensor &gradOutput, const at::Tensor &gradCy,
                       const at::Tensor &batchSizes, bool reverse,
                       at::Tensor &gradGates, at::Tensor &gradCx);

/// From them, the gradients of a layer's weights and of its bias.
void lstmLayerWeights(const at::Tensor &gradGates, const at::Tensor &input,
                      const at::Tensor &hx, const at::Tensor &output,
                      const at::Tensor &batchSizes, bool reverse,
                      at::Tensor &gradInputWeight, at::Tensor &gradWeight,
                      at::Tensor &gradBias);

/// And the gradient (T, B, N) of what was multiplied by `weight` (4H, N): of
/// the input, or of the state before a time.
void lstmLayerInput(const at::Tensor &gradGates, const at::Tensor &weight,
                    at::Tensor &gradInput);

} // namespace ltc::backend
