//===- lstm_cell.cpp - The elementwise part of an LSTM --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lstm_cell.h"

#include "vector_functions.h"

namespace ltc::backend {

/// Compares so that a NaN stays one.
static inline float clamp(float x, float bound) {
  x = x > bound ? bound : x;
  return x < -bound ? -bound : x;
}

static inline float sigmoid(float x) {
  return 1 / (2 + expMinusOne(-clamp(x, 80.0f)));
}

static inline float hyperbolicTangent(float x) {
  float e = expMinusOne(2 * clamp(x, 20.0f));
  return e / (e + 2);
}

LTC_FOR_EACH_CPU
void lstmCell(const LstmCell &at, float *gates, float *__restrict cell,
              float *__restrict output) {
  float *__restrict in = gates, *__restrict forget = in + at.gateStride,
                    *__restrict candidate = forget + at.gateStride,
                    *__restrict out = candidate + at.gateStride;
  const float *__restrict before = at.cellBefore;
  for (int64_t i = 0; i < at.units; ++i) {
    in[i] = sigmoid(in[i]);
    forget[i] = sigmoid(forget[i]);
    candidate[i] = hyperbolicTangent(candidate[i]);
    out[i] = sigmoid(out[i]);
    cell[i] = forget[i] * before[i] + in[i] * candidate[i];
    output[i] = out[i] * hyperbolicTangent(cell[i]);
  }
}

LTC_FOR_EACH_CPU
void lstmCellBackward(const LstmCell &at, const float *gates,
                      const float *__restrict cell,
                      const float *__restrict gradOutput,
                      const float *__restrict gradLater,
                      float *__restrict gradCell, float *gradGates) {
  const float *in = gates, *forget = in + at.gateStride,
              *candidate = forget + at.gateStride,
              *out = candidate + at.gateStride;
  const float *__restrict before = at.cellBefore;
  float *gradIn = gradGates, *gradForget = gradIn + at.gateStride,
        *gradCandidate = gradForget + at.gateStride,
        *gradOut = gradCandidate + at.gateStride;
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < at.units; ++i) {
    float admitted = in[i], kept = forget[i];
    float proposed = candidate[i], shown = out[i];
    float bent = hyperbolicTangent(cell[i]);
    float state = gradOutput[i] + gradLater[i];
    float grad = gradCell[i] + state * shown * (1 - bent * bent);
    gradOut[i] = state * bent * shown * (1 - shown);
    gradIn[i] = grad * proposed * admitted * (1 - admitted);
    gradForget[i] = grad * before[i] * kept * (1 - kept);
    gradCandidate[i] = grad * admitted * (1 - proposed * proposed);
    gradCell[i] = grad * kept;
  }
}

} // namespace ltc::backend
