//===- lstm_forward.cpp - A layer of an LSTM over all its times -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each time, a tile of hidden units is made by one thread: its share of the
// products with the input and with the state before, and then the gates, while
// both are in the cache. The weights are packed once, the four gates of a unit
// side by side.
//
//===----------------------------------------------------------------------===//
#include "lstm.h"
#include "lstm_steps.h"
#include "vectors.h"

#include <vector>

namespace ltc::kernels {

namespace {

/// A layer's weight, read by columns.
MatrixView byColumns(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {weight.as<float>(), cols, rows, 1, cols};
}

class Forward {
public:
  Forward(const LstmSteps &layer, const LstmInputs &from,
          const TensorView &output, const TensorView &cells,
          const TensorView &gates)
      : layer(layer), features(from.input.size(-1)), batch(from.hx.size(0)),
        block(layer.isPacked
                  ? 1
                  : std::clamp<int64_t>(kTileRows / batch, 1, layer.times)),
        input(from.input.as<float>()), hx(from.hx.as<float>()),
        cx(from.cx.as<float>()), output(output.as<float>()),
        cells(cells.as<float>()), gates(gates.as<float>()),
        inputWeight(byColumns(from.inputWeight), {.cols = kGatesPerUnit}),
        weight(byColumns(from.weight), {.cols = kGatesPerUnit}),
        bias(weight.panels() * kLstmGates),
        products(weight.panels() * block * batch * kLstmGates) {
    const float *data = from.bias.as<float>();
    for (int64_t i = 0; i < kGatesPerUnit * layer.hidden; ++i) {
      int64_t gate = i / layer.hidden, unit = i % layer.hidden;
      bias[unit / kLstmUnits * kLstmGates + gate * kLstmUnits +
           unit % kLstmUnits] = data[i];
    }
  }

  void run() {
    for (int64_t i = 0; i < layer.times; ++i)
      forTiles(layer, i, weight,
               [&](const RecurrentTile &tile) { apply(i, tile); });
  }

private:
  /// With the inputs of several times at once where batches are small: a weight
  /// is read as often as this is called.
  void multiplyInput(int64_t i, int64_t times, const RecurrentTile &at,
                     float *to) {
    int64_t first = layer.reverse ? i + times - 1 : i;
    inputWeight.multiply(
        at.panel, {layer.row(input, first, at.row, features), features, 1},
        (times - 1) * batch + at.rows, false, {to, kLstmGates});
  }

  void apply(int64_t i, const RecurrentTile &at) {
    int64_t h = layer.hidden, place = i % block;
    int64_t times = std::min(block, layer.times - (i - place));
    float *made =
        products.data() + (at.panel * block * batch + at.row) * kLstmGates;
    if (place == 0)
      multiplyInput(i, times, at, made);
    made += (layer.reverse ? times - 1 - place : place) * batch * kLstmGates;
    float *to = layer.gates(gates, i, at.panel, at.row);
    weight.multiply(at.panel, {layer.before(hx, output, i, at.row), h, 1},
                    at.rows, true, {made, kLstmGates},
                    layer.prefetch(to, 1, at.rows, h));
    lstmCell(
        {at.rows, at.units, h, layer.before(cx, cells, i, at.row) + at.col},
        made, bias.data() + at.panel * kLstmGates, to,
        layer.row(cells, i, at.row, h) + at.col,
        layer.row(output, i, at.row, h) + at.col);
  }

  const LstmSteps &layer;
  const int64_t features, batch; ///< entries of the largest batch
  const int64_t block;           ///< times in one product with the input
  const float *input, *hx, *cx;
  float *output, *cells, *gates;
  PackedMatrix inputWeight, weight;
  std::vector<float> bias;     ///< packed as the weights
  std::vector<float> products; ///< of a block of times, a panel's together
};

} // namespace

void lstmLayer(const LstmInputs &from, bool reverse, const TensorView &output,
               const TensorView &cells, const TensorView &gates) {
  LstmSteps layer(output, from.batchSizes, reverse);
  Forward(layer, from, output, cells, gates).run();
}

} // namespace ltc::kernels
