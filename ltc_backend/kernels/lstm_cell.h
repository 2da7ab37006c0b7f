//===- lstm_cell.h - The elementwise part of an LSTM ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc::backend {

/// Some hidden units of one batch entry at one time. Gates stand in PyTorch's
/// order: input, forget, cell, output, `gateStride` floats apart.
struct LstmCell {
  int64_t units, gateStride;
  const float *cellBefore; ///< the cell's state before this time
};

/// Applies the gates, each its function in place, and writes the cell's state
/// and the output.
void lstmCell(const LstmCell &at, float *gates, float *cell, float *output);

/// Gradients of one application. `gradOutput` and `gradLater` are with respect
/// to the output, by what reads it and by the next time; `gradCell` to the
/// state after it on entry and before it on return; `gradGates`, laid out as
/// the gates, to what the gates were made from. No two overlap.
void lstmCellBackward(const LstmCell &at, const float *gates, const float *cell,
                      const float *gradOutput, const float *gradLater,
                      float *gradCell, float *gradGates);

} // namespace ltc::backend
