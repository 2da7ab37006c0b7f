//===- gru_cell.cpp - The elementwise part of a GRU -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gru_cell.h"

#include "vector_functions.h"

#include <algorithm>

namespace ltc::kernels {

/// Units of a vector.
static constexpr int64_t kWidth = 16;

/// One batch entry; inlined with a constant, `units` makes the loop a vector.
__attribute__((always_inline)) static inline void
apply(int64_t units, int64_t hidden, const float *__restrict before,
      const float *__restrict projected, const float *__restrict products,
      int64_t gateStride, const float *__restrict bias, float *__restrict gates,
      float *__restrict output) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < units; ++i) {
    auto ofState = [&](int64_t gate) {
      return products[gate * gateStride + i] + bias[gate * hidden + i];
    };
    float share = ofState(2);
    float reset = sigmoid(projected[i] + ofState(0));
    float update = sigmoid(projected[hidden + i] + ofState(1));
    float made = hyperbolicTangent(projected[2 * hidden + i] + reset * share);
    gates[i] = reset;
    gates[hidden + i] = update;
    gates[2 * hidden + i] = made;
    gates[3 * hidden + i] = share;
    output[i] = (before[i] - made) * update + made;
  }
}

LTC_FOR_EACH_CPU
void gruCell(const GruCell &at, const float *projected,
             const GruProducts &products, const float *bias, float *gates,
             float *output) {
  int64_t h = at.hidden;
  for (int64_t r = 0; r < at.rows; ++r) {
    auto run = [&](int64_t units, int64_t i) __attribute__((always_inline)) {
      apply(units, h, at.before + r * h + i, projected + r * kGruGates * h + i,
            products.data + r * products.rowStride + i, products.gateStride,
            bias + i, gates + r * (kGruGates + 1) * h + i, output + r * h + i);
    };
    if (at.units < kWidth)
      run(at.units, 0);
    // The last vector makes some units once more, rather than few on their own.
    else
      for (int64_t i = 0; i < at.units; i += kWidth)
        run(kWidth, std::min(i, at.units - kWidth));
  }
}

LTC_FOR_EACH_CPU
void gruCellBackward(const GruCell &at, const float *gates,
                     const GruCellGrads &grads) {
  int64_t h = at.hidden;
  for (int64_t r = 0; r < at.rows; ++r) {
    const float *__restrict own = gates + r * (kGruGates + 1) * h;
    const float *__restrict before = at.before + r * h;
    const float *__restrict output = grads.output + r * h;
    const float *__restrict later = grads.later + r * grads.laterStride;
    float *__restrict state = grads.state + r * h;
    float *__restrict projected = grads.projected + r * kGruGates * h;
    float *__restrict products = grads.products + r * kGruGates * h;
    LTC_NO_OVERLAP
    for (int64_t i = 0; i < at.units; ++i) {
      float reset = own[i], update = own[h + i];
      float made = own[2 * h + i], share = own[3 * h + i];
      float grad = output[i] + later[i] + state[i];
      float ofMade = grad * (1 - update) * (1 - made * made);
      float ofReset = ofMade * share * reset * (1 - reset);
      float ofUpdate = grad * (before[i] - made) * update * (1 - update);
      projected[i] = products[i] = ofReset;
      projected[h + i] = products[h + i] = ofUpdate;
      projected[2 * h + i] = ofMade;
      products[2 * h + i] = ofMade * reset;
      state[i] = grad * update;
    }
  }
}

} // namespace ltc::kernels
