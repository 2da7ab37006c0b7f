//===- lstm_steps.h - Where an LSTM's gates lie -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lstm_cell.h"
#include "recurrent_steps.h"

namespace ltc::kernels {

static_assert(kPanelCols == kLstmGates);

struct LstmSteps : RecurrentSteps {
  using RecurrentSteps::RecurrentSteps;

  /// Of the gates: those of a block of units stand together, at all times.
  template <typename T>
  T *gates(T *data, int64_t i, int64_t block, int64_t b) const {
    return data + (block * this->rows + place(i) + b) * kLstmGates;
  }
  /// What a product that is `depth` deep brings near of `blocks` of `gates`.
  Prefetch prefetch(const float *gates, int64_t blocks, int64_t rows,
                    int64_t depth) const {
    return {gates, std::max<int64_t>(1, rows * kLstmGates / depth), blocks,
            this->rows * kLstmGates};
  }
};

} // namespace ltc::kernels
