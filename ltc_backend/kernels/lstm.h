//===- kernels/lstm.h - One layer of an LSTM over all its times -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether this processor has the two kernels below.
bool hasLstmLayer();

/// One direction of one layer: times T, batch B, hidden units H, all float32 on
/// the CPU. `projected` (T, B, 4H) is what the input and the biases add to the
/// gates; `hx`, `cx` (B, H) the states before the first time; `weight` (4H, H)
/// what the output before adds. Writes `output` and `cells` (T, B, H), and
/// `gates` (T, B, 4H) after their functions. With `reverse`, time runs down.
/// The number of threads changes no value.
void lstmLayer(const at::Tensor &projected, const at::Tensor &hx,
               const at::Tensor &cx, const at::Tensor &weight, bool reverse,
               at::Tensor &output, at::Tensor &cells, at::Tensor &gates);

/// Its gradients with respect to `projected`, `hx` and `cx`, from those with
/// respect to `output` (T, B, H) and to the cells' last state (B, H).
void lstmLayerBackward(const at::Tensor &gradOutput, const at::Tensor &gradCy,
                       const at::Tensor &cx, const at::Tensor &weight,
                       const at::Tensor &cells, const at::Tensor &gates,
                       bool reverse, at::Tensor &gradProjected,
                       at::Tensor &gradHx, at::Tensor &gradCx);

} // namespace ltc::backend
