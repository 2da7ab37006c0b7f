//===- lstm_cell.h - The elementwise part of an LSTM ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/recurrent.h"

#include <cstdint>

namespace ltc::kernels {

/// `units` <= kLstmUnits of some batch entries at one time. Gates of one entry
/// stand kLstmGates floats from those of the one before, all else `stride`.
struct LstmCell {
  int64_t rows, units, stride;
  const float *before; ///< the cell's state before this time
};

/// Makes the gates of what the products gave and the bias (of kLstmGates), and
/// of them the cell's state and the output. No two overlap.
void lstmCell(const LstmCell &at, const float *products, const float *bias,
              float *gates, float *cell, float *output);

/// With respect to the output, by what reads it (with LstmCell's stride) and by
/// the next time (`laterStride`); to the state after this time on entry and
/// before it on return; to what the gates were made of.
struct LstmCellGrads {
  const float *output, *later;
  int64_t laterStride;
  float *cell, *gates;
};

/// Gradients of one application; those of the gates may be written over them,
/// and are zero where there are no more units. No other two overlap.
void lstmCellBackward(const LstmCell &at, const float *gates, const float *cell,
                      const LstmCellGrads &grads);

/// Adds `rows` rows of kLstmGates floats to `sum`.
void addLstmGates(int64_t rows, const float *gates, float *sum);

} // namespace ltc::kernels
