//===- gru_layer.cpp - A layer of a GRU over all its times ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each time, a tile of hidden units is made by one thread: its share of the
// product with the state before, and then the gates, while it is in the cache.
// The weight is packed once, the three gates of a unit in one panel; for the
// backward as it is.
//
//===----------------------------------------------------------------------===//
#include "gru.h"
#include "gru_cell.h"
#include "recurrent_steps.h"
#include "vectors.h"

#include <cstring>

namespace ltc::kernels {

namespace {

PackedMatrix packedByUnits(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.as<float>(), cols, rows, 1, cols}, {.cols = kGruGates}};
}

PackedMatrix packed(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.as<float>(), rows, cols, cols, 1}, {}};
}

class Forward {
public:
  Forward(const RecurrentSteps &layer, const GruInputs &from,
          const TensorView &output, const TensorView &gates)
      : layer(layer), projected(from.projected.as<float>()),
        hx(from.hx.as<float>()), bias(from.bias.as<float>()),
        output(output.as<float>()), gates(gates.as<float>()),
        weight(packedByUnits(from.weight)) {}

  void run() {
    for (int64_t i = 0; i < layer.times; ++i)
      forTiles(layer, i, weight,
               [&](const RecurrentTile &tile) { apply(i, tile); });
  }

private:
  void apply(int64_t i, const RecurrentTile &at) {
    int64_t h = layer.hidden;
    alignas(64) float products[kTileRows * kPanelCols];
    const float *before = layer.before(hx, output, i, at.row);
    weight.multiply(at.panel, {before, h, 1}, at.rows, false,
                    {products, kPanelCols});
    gruCell({at.rows, at.units, h, before + at.col},
            layer.row(projected, i, at.row, kGruGates * h) + at.col,
            {products, kPanelCols, weight.groupCols()}, bias + at.col,
            layer.row(gates, i, at.row, (kGruGates + 1) * h) + at.col,
            layer.row(output, i, at.row, h) + at.col);
  }

  const RecurrentSteps &layer;
  const float *projected, *hx, *bias;
  float *output, *gates;
  PackedMatrix weight;
};

class Backward {
public:
  Backward(const RecurrentSteps &layer, const TensorView &gates,
           const TensorView &output, const TensorView &hx,
           const TensorView &weight, const TensorView &gradOutput,
           const TensorView &gradProjected, const TensorView &gradProducts,
           const TensorView &gradState)
      : layer(layer), gates(gates.as<float>()), output(output.as<float>()),
        hx(hx.as<float>()), gradOutput(gradOutput.as<float>()),
        gradProjected(gradProjected.as<float>()),
        gradProducts(gradProducts.as<float>()),
        gradState(gradState.as<float>()), weight(packed(weight)) {}

  /// `gradState` is zero, and becomes the gradient of the first state.
  void run() {
    for (int64_t i = layer.times; i-- > 0;) {
      forTilesBackward(layer, i, weight,
                       [&](const RecurrentTile &tile) { apply(i, tile); });
      forTilesThatBegin(layer, i, weight, [&](const RecurrentTile &at) {
        multiply(i, at, true,
                 {gradState + at.row * layer.hidden + at.col, layer.hidden});
      });
    }
  }

private:
  /// What the i-th time's products pass on to the state before.
  void multiply(int64_t i, const RecurrentTile &at, bool accumulate,
                Rows<float> to) const {
    int64_t width = kGruGates * layer.hidden;
    weight.multiply(at.panel,
                    {layer.row(gradProducts, i, at.row, width), width, 1},
                    at.rows, accumulate, to);
  }

  void apply(int64_t i, const RecurrentTile &at) {
    int64_t h = layer.hidden, width = kGruGates * h;
    alignas(64) float later[kTileRows * kPanelCols];
    if (at.row < layer.continued(i + 1))
      multiply(i + 1, at, false, {later, kPanelCols});
    else
      std::memset(later, 0, sizeof(later));
    gruCellBackward(
        {at.rows, at.units, h, layer.before(hx, output, i, at.row) + at.col},
        layer.row(gates, i, at.row, (kGruGates + 1) * h) + at.col,
        {layer.row(gradOutput, i, at.row, h) + at.col, later, kPanelCols,
         gradState + at.row * h + at.col,
         layer.row(gradProjected, i, at.row, width) + at.col,
         layer.row(gradProducts, i, at.row, width) + at.col});
  }

  const RecurrentSteps &layer;
  const float *gates, *output, *hx, *gradOutput;
  float *gradProjected, *gradProducts, *gradState;
  PackedMatrix weight;
};

} // namespace

void gruLayer(const GruInputs &from, bool reverse, const TensorView &output,
              const TensorView &gates) {
  RecurrentSteps layer(output, from.batchSizes, reverse);
  Forward(layer, from, output, gates).run();
}

void gruLayerBackward(const TensorView &gates, const TensorView &output,
                      const TensorView &hx, const TensorView &weight,
                      const TensorView &gradOutput,
                      const TensorView &batchSizes, bool reverse,
                      const TensorView &gradProjected,
                      const TensorView &gradProducts,
                      const TensorView &gradHx) {
  RecurrentSteps layer(output, batchSizes, reverse);
  std::memset(gradHx.data, 0, gradHx.elements() * sizeof(float));
  Backward(layer, gates, output, hx, weight, gradOutput, gradProjected,
           gradProducts, gradHx)
      .run();
}

} // namespace ltc::kernels
