//===- recurrent.h - How layers over times lay out their gates --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc {

/// Of an LSTM, in PyTorch's order: input, forget, cell, output.
inline constexpr int64_t kGatesPerUnit = 4;
/// Hidden units that are worked on together, and the floats that their gates
/// take, one gate's after the other. What stands in places for more units than
/// there are is no number that anyone reads.
inline constexpr int64_t kLstmUnits = 16,
                         kLstmGates = kGatesPerUnit * kLstmUnits;

/// How many such blocks the units of a layer are.
constexpr int64_t lstmUnitBlocks(int64_t hidden) {
  return (hidden + kLstmUnits - 1) / kLstmUnits;
}

/// Of a GRU, in PyTorch's order: reset, update, new.
inline constexpr int64_t kGruGates = 3;

} // namespace ltc
