//===- lstm_backward.cpp - Gradients of a layer of an LSTM ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in the forward, by tiles of units, time after time: the next time's
// gradients of the gates times the weight are what this one's state passes on.
// The gradients of the gates stand by blocks of units, each of which is a piece
// of the inner dimension; the weights are packed in the same order.
//
//===----------------------------------------------------------------------===//
#include "lstm.h"
#include "lstm_steps.h"

#include <cstring>

namespace ltc::kernels {

namespace {

/// Rows of gates or their gradients, the first of whose first block is `first`,
/// of so many places, which are pairs of a time and a batch entry.
BlockLeft gatesByRows(const float *first, int64_t hidden, int64_t places) {
  return {first, kLstmGates, 1, lstmUnitBlocks(hidden), places * kLstmGates};
}

/// A weight that such rows are multiplied by.
PackedMatrix packedByUnits(const TensorView &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.as<float>(), rows, cols, cols, 1}, {.rows = kGatesPerUnit}};
}

class Backward {
public:
  Backward(const LstmSteps &layer, const TensorView &gates,
           const TensorView &cells, const TensorView &cx,
           const TensorView &weight, const TensorView &gradOutput,
           const TensorView &gradGates, const TensorView &gradCx)
      : layer(layer), gates(gates.as<float>()), cells(cells.as<float>()),
        cx(cx.as<float>()), gradOutput(gradOutput.as<float>()),
        gradGates(gradGates.as<float>()), gradCell(gradCx.as<float>()),
        weight(packedByUnits(weight)) {}

  /// `gradCell` holds the gradient of the last state of the cell.
  void run() {
    for (int64_t i = layer.times; i-- > 0;)
      forTilesBackward(layer, i, weight,
                       [&](const RecurrentTile &tile) { apply(i, tile); });
  }

private:
  void apply(int64_t i, const RecurrentTile &at) {
    int64_t h = layer.hidden;
    // Of the state after this time, by the next one.
    alignas(64) float gradState[kTileRows * kPanelCols];
    if (at.row < layer.continued(i + 1))
      weight.multiply(
          at.panel,
          gatesByRows(layer.gates(gradGates, i + 1, 0, at.row), h, layer.rows),
          at.rows, false, {gradState, kPanelCols},
          layer.prefetch(layer.gates(gates, i, at.col / kLstmUnits, at.row),
                         lstmUnitBlocks(at.units), at.rows, kGatesPerUnit * h));
    else
      std::memset(gradState, 0, sizeof(gradState));
    const float *before = layer.before(cx, cells, i, at.row);
    for (int64_t col = at.col; col < at.col + at.units; col += kLstmUnits) {
      int64_t units = std::min(kLstmUnits, at.col + at.units - col);
      int64_t block = col / kLstmUnits;
      lstmCellBackward({at.rows, units, h, before + col},
                       layer.gates(gates, i, block, at.row),
                       layer.row(cells, i, at.row, h) + col,
                       {layer.row(gradOutput, i, at.row, h) + col,
                        gradState + col - at.col, kPanelCols,
                        gradCell + at.row * h + col,
                        layer.gates(gradGates, i, block, at.row)});
    }
  }

  const LstmSteps &layer;
  const float *gates, *cells, *cx, *gradOutput;
  float *gradGates, *gradCell;
  PackedMatrix weight;
};

} // namespace

void lstmLayerBackward(const TensorView &gates, const TensorView &cells,
                       const TensorView &cx, const TensorView &weight,
                       const TensorView &gradOutput, const TensorView &gradCy,
                       const TensorView &batchSizes, bool reverse,
                       const TensorView &gradGates, const TensorView &gradCx) {
  LstmSteps layer(cells, batchSizes, reverse);
  std::memcpy(gradCx.data, gradCy.data, gradCx.elements() * sizeof(float));
  Backward(layer, gates, cells, cx, weight, gradOutput, gradGates, gradCx)
      .run();
}

void lstmLayerInput(const TensorView &gradGates, const TensorView &weight,
                    const TensorView &gradInput) {
  constexpr int64_t kBlockRows = 64;
  PackedMatrix packed = packedByUnits(weight);
  const float *from = gradGates.as<float>();
  float *to = gradInput.as<float>();
  int64_t places = gradInput.elements() / weight.size(1),
          width = weight.size(1);
  int64_t blocks = ceilDiv(places, kBlockRows);
  forRanges(blocks * packed.panels(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i % packed.panels(),
              row = i / packed.panels() * kBlockRows;
      packed.multiply(panel,
                      gatesByRows(from + row * kLstmGates,
                                  weight.size(0) / kGatesPerUnit, places),
                      std::min(kBlockRows, places - row), false,
                      {to + row * width + panel * kPanelCols, width});
    }
  });
}

} // namespace ltc::kernels
