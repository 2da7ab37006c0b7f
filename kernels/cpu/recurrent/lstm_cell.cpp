//===- lstm_cell.cpp - The elementwise part of an LSTM --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lstm_cell.h"

#include "vector_functions.h"

#include <algorithm>

namespace ltc::kernels {

/// One batch entry; inlined with a constant, `units` makes the loop a vector.
__attribute__((always_inline)) static inline void
apply(int64_t units, const float *__restrict before,
      const float *__restrict products, const float *__restrict bias,
      float *__restrict gates, float *__restrict cell,
      float *__restrict output) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < units; ++i) {
    auto sum = [&](int64_t gate) {
      int64_t place = gate * kLstmUnits + i;
      return products[place] + bias[place];
    };
    float in = sigmoid(sum(0)), forget = sigmoid(sum(1));
    float candidate = hyperbolicTangent(sum(2)), out = sigmoid(sum(3));
    gates[i] = in;
    gates[kLstmUnits + i] = forget;
    gates[2 * kLstmUnits + i] = candidate;
    gates[3 * kLstmUnits + i] = out;
    cell[i] = forget * before[i] + in * candidate;
    output[i] = out * hyperbolicTangent(cell[i]);
  }
}

LTC_FOR_EACH_CPU
void lstmCell(const LstmCell &at, const float *products, const float *bias,
              float *gates, float *cell, float *output) {
  for (int64_t r = 0; r < at.rows; ++r) {
    int64_t place = r * at.stride, gatesPlace = r * kLstmGates;
    auto run = [&](int64_t units) __attribute__((always_inline)) {
      apply(units, at.before + place, products + gatesPlace, bias,
            gates + gatesPlace, cell + place, output + place);
    };
    if (at.units == kLstmUnits)
      run(kLstmUnits);
    else
      run(at.units);
  }
}

/// As apply(). What the gates are read from may be where gradients are written.
__attribute__((always_inline)) static inline void
applyBackward(int64_t units, const float *__restrict before, const float *gates,
              const float *__restrict cell, const float *__restrict gradOutput,
              const float *__restrict gradLater, float *__restrict gradCell,
              float *gradGates) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < units; ++i) {
    float admitted = gates[i], kept = gates[kLstmUnits + i];
    float proposed = gates[2 * kLstmUnits + i];
    float shown = gates[3 * kLstmUnits + i];
    float bent = hyperbolicTangent(cell[i]);
    float state = gradOutput[i] + gradLater[i];
    float grad = gradCell[i] + state * shown * (1 - bent * bent);
    gradGates[i] = grad * proposed * admitted * (1 - admitted);
    gradGates[kLstmUnits + i] = grad * before[i] * kept * (1 - kept);
    gradGates[2 * kLstmUnits + i] = grad * admitted * (1 - proposed * proposed);
    gradGates[3 * kLstmUnits + i] = state * bent * shown * (1 - shown);
    gradCell[i] = grad * kept;
  }
  for (int64_t i = units; i < kLstmUnits; ++i)
    for (int64_t gate = 0; gate < kGatesPerUnit; ++gate)
      gradGates[gate * kLstmUnits + i] = 0;
}

LTC_FOR_EACH_CPU
void lstmCellBackward(const LstmCell &at, const float *gates, const float *cell,
                      const LstmCellGrads &grads) {
  for (int64_t r = 0; r < at.rows; ++r) {
    int64_t place = r * at.stride, gatesPlace = r * kLstmGates;
    auto run = [&](int64_t units) __attribute__((always_inline)) {
      applyBackward(units, at.before + place, gates + gatesPlace, cell + place,
                    grads.output + place, grads.later + r * grads.laterStride,
                    grads.cell + place, grads.gates + gatesPlace);
    };
    if (at.units == kLstmUnits)
      run(kLstmUnits);
    else
      run(at.units);
  }
}

LTC_FOR_EACH_CPU
void addLstmGates(int64_t rows, const float *gates, float *sum) {
  // Of few at a time, for the sake of the last digits.
  constexpr int64_t kFew = 32;
  float all[kLstmGates] = {};
  for (int64_t row = 0; row < rows; row += kFew) {
    float few[kLstmGates] = {};
    for (int64_t r = row; r < std::min(rows, row + kFew); ++r)
      for (int64_t i = 0; i < kLstmGates; ++i)
        few[i] += gates[r * kLstmGates + i];
    for (int64_t i = 0; i < kLstmGates; ++i)
      all[i] += few[i];
  }
  for (int64_t i = 0; i < kLstmGates; ++i)
    sum[i] += all[i];
}

} // namespace ltc::kernels
