//===- rnn_layer.cpp - A layer of an RNN over all its times ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As of a GRU: each time, a tile of hidden units is made by one thread.
//
//===----------------------------------------------------------------------===//
#include "recurrent_steps.h"
#include "rnn.h"
#include "vector_functions.h"
#include "vectors.h"

namespace ltc::kernels {

namespace {

/// output = f(projected + output + bias), row by row.
LTC_FOR_EACH_CPU
void activate(const RecurrentTile &at, int64_t hidden, bool relu,
              const float *__restrict projected, const float *__restrict bias,
              float *__restrict output) {
  for (int64_t r = 0; r < at.rows; ++r) {
    const float *__restrict from = projected + r * hidden;
    float *__restrict to = output + r * hidden;
    LTC_NO_OVERLAP
    for (int64_t i = 0; i < at.units; ++i)
      to[i] = from[i] + (to[i] + bias[i]);
    if (relu) {
      LTC_NO_OVERLAP
      for (int64_t i = 0; i < at.units; ++i)
        to[i] = to[i] < 0 ? 0 : to[i]; // a NaN stays one
    } else {
      LTC_NO_OVERLAP
      for (int64_t i = 0; i < at.units; ++i)
        to[i] = hyperbolicTangent(to[i]);
    }
  }
}

/// sums = (sums + gradOutput) f', row by row.
LTC_FOR_EACH_CPU
void differentiate(const RecurrentTile &at, int64_t hidden, bool relu,
                   const float *__restrict output,
                   const float *__restrict gradOutput, float *__restrict sums) {
  for (int64_t r = 0; r < at.rows; ++r) {
    const float *__restrict from = output + r * hidden;
    const float *__restrict grad = gradOutput + r * hidden;
    float *__restrict to = sums + r * hidden;
    LTC_NO_OVERLAP
    for (int64_t i = 0; i < at.units; ++i) {
      float sum = to[i] + grad[i];
      float ofTanh = sum * (1 - from[i] * from[i]);
      float ofRelu = from[i] <= 0 ? 0 : sum;
      to[i] = relu ? ofRelu : ofTanh;
    }
  }
}

PackedMatrix byColumns(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.as<float>(), cols, rows, 1, cols}, {}};
}

PackedMatrix byRows(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.as<float>(), rows, cols, cols, 1}, {}};
}

} // namespace

void rnnLayer(const RnnInputs &from, bool relu, bool reverse,
              const TensorView &output) {
  PackedMatrix weight = byColumns(from.weight);
  RecurrentSteps layer(output, from.batchSizes, reverse);
  int64_t h = layer.hidden;
  float *out = output.as<float>();
  for (int64_t i = 0; i < layer.times; ++i)
    forTiles(layer, i, weight, [&](const RecurrentTile &at) {
      const float *before = layer.before(from.hx.as<float>(), out, i, at.row);
      float *to = layer.row(out, i, at.row, h) + at.col;
      weight.multiply(at.panel, {before, h, 1}, at.rows, false, {to, h});
      activate(at, h, relu,
               layer.row(from.projected.as<float>(), i, at.row, h) + at.col,
               from.bias.as<float>() + at.col, to);
    });
}

void rnnLayerBackward(const TensorView &output, const TensorView &weight,
                      const TensorView &gradOutput,
                      const TensorView &batchSizes, bool relu, bool reverse,
                      const TensorView &gradSums, const TensorView &gradHx) {
  PackedMatrix packed = byRows(weight);
  RecurrentSteps layer(output, batchSizes, reverse);
  int64_t h = layer.hidden;
  float *sums = gradSums.as<float>();
  float *ofFirst = gradHx.as<float>();
  // What the sums of the i-th time pass on to the state before.
  auto multiply = [&](int64_t i, const RecurrentTile &at, float *to) {
    packed.multiply(at.panel, {layer.row(sums, i, at.row, h), h, 1}, at.rows,
                    false, {to, h});
  };
  for (int64_t i = layer.times; i-- > 0;) {
    forTilesBackward(layer, i, packed, [&](const RecurrentTile &at) {
      float *to = layer.row(sums, i, at.row, h) + at.col;
      if (at.row < layer.continued(i + 1))
        multiply(i + 1, at, to);
      else
        for (int64_t r = 0; r < at.rows; ++r)
          std::fill_n(to + r * h, at.units, 0.0f);
      differentiate(
          at, h, relu, layer.row(output.as<float>(), i, at.row, h) + at.col,
          layer.row(gradOutput.as<float>(), i, at.row, h) + at.col, to);
    });
    forTilesThatBegin(layer, i, packed, [&](const RecurrentTile &at) {
      multiply(i, at, ofFirst + at.row * h + at.col);
    });
  }
}

} // namespace ltc::kernels
