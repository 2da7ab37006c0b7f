//===- lstm.h - One layer of an LSTM over all its times ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

namespace ltc::kernels {

/// What one direction of one layer is made from: times T, batch B, features I,
/// hidden units H, all float32 and dense, on a processor
/// with hasRecurrentLayers(). Instead of (T, B), all tensors of
/// this header may have one dimension of rows, of packed sequences, with as
/// many for each time as `batchSizes` says (see RecurrentSteps), which else is
/// undefined.
struct LstmInputs {
  TensorView input;       ///< (T, B, I)
  TensorView hx, cx;      ///< (B, H), the states before the first time
  TensorView inputWeight; ///< (4H, I)
  TensorView weight;      ///< (4H, H), for the output before
  TensorView bias;        ///< (4H)
  TensorView batchSizes;  ///< undefined, or (T)
};

/// Writes `output` and `cells` (T, B, H), and for the backward `gates`
/// (lstmUnitBlocks(H), T, B, kLstmGates) after their functions. With `reverse`,
/// time runs down. The number of threads changes no value, here and below.
void lstmLayer(const LstmInputs &from, bool reverse, const TensorView &output,
               const TensorView &cells, const TensorView &gates);

/// Its gradients with respect to `cx` and to the sums of products and bias that
/// the gates are functions of, `gradGates`, which may be `gates`; from those
/// with respect to `output` (T, B, H) and to the cells' last state (B, H).
void lstmLayerBackward(const TensorView &gates, const TensorView &cells,
                       const TensorView &cx, const TensorView &weight,
                       const TensorView &gradOutput, const TensorView &gradCy,
                       const TensorView &batchSizes, bool reverse,
                       const TensorView &gradGates, const TensorView &gradCx);

/// From them, the gradients of a layer's weights and of its bias.
void lstmLayerWeights(const TensorView &gradGates, const TensorView &input,
                      const TensorView &hx, const TensorView &output,
                      const TensorView &batchSizes, bool reverse,
                      const TensorView &gradInputWeight,
                      const TensorView &gradWeight, const TensorView &gradBias);

/// And the gradient (T, B, N) of what was multiplied by `weight` (4H, N): of
/// the input, or of the state before a time.
void lstmLayerInput(const TensorView &gradGates, const TensorView &weight,
                    const TensorView &gradInput);

} // namespace ltc::kernels
