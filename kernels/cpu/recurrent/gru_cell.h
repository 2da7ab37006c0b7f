//===- gru_cell.h - The elementwise part of a GRU ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/recurrent.h"

#include <cstdint>

namespace ltc::kernels {

/// Some hidden units of some batch entries at one time, of `hidden` in a layer.
struct GruCell {
  int64_t rows, units, hidden;
  const float *before; ///< the state before this time, `hidden` floats a row
};

/// What the state before was multiplied to: a gate's numbers `gateStride` from
/// those of the gate before.
struct GruProducts {
  const float *data;
  int64_t rowStride, gateStride;
};

/// Makes the gates, four of `hidden` floats a row (see gruLayer()), of
/// `projected` (three), the products and the bias (three, in one row), and of
/// them the output. No two overlap.
void gruCell(const GruCell &at, const float *projected,
             const GruProducts &products, const float *bias, float *gates,
             float *output);

/// With respect to the output, by what reads it and by the next time's products
/// (`laterStride` floats a row); to the state before this time as far as no
/// product has a part in it, and on entry to the one after.
struct GruCellGrads {
  const float *output, *later;
  int64_t laterStride;
  float *state;
  float *projected, *products; ///< three gates a row
};

/// Gradients of one application. No two overlap.
void gruCellBackward(const GruCell &at, const float *gates,
                     const GruCellGrads &grads);

} // namespace ltc::kernels
