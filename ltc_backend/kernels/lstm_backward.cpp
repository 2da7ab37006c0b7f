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

#include <ATen/ATen.h>

#include <cstring>

namespace ltc::backend {
using at::Tensor;

namespace {

/// Rows of gates or their gradients, the first of whose first block is `first`,
/// of so many places, which are pairs of a time and a batch entry.
BlockLeft gatesByRows(const float *first, int64_t hidden, int64_t places) {
  return {first, kLstmGates, 1, lstmUnitBlocks(hidden), places * kLstmGates};
}

/// A weight that such rows are multiplied by.
PackedMatrix packedByUnits(const Tensor &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.const_data_ptr<float>(), rows, cols, cols, 1},
          {.rows = kGatesPerUnit}};
}

class Backward {
public:
  Backward(const LstmSteps &layer, const Tensor &gates, const Tensor &cells,
           const Tensor &cx, const Tensor &weight, const Tensor &gradOutput,
           Tensor &gradGates, Tensor &gradCx)
      : layer(layer), gates(gates.const_data_ptr<float>()),
        cells(cells.const_data_ptr<float>()), cx(cx.const_data_ptr<float>()),
        gradOutput(gradOutput.const_data_ptr<float>()),
        gradGates(gradGates.mutable_data_ptr<float>()),
        gradCell(gradCx.mutable_data_ptr<float>()),
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

void lstmLayerBackward(const Tensor &gates, const Tensor &cells,
                       const Tensor &cx, const Tensor &weight,
                       const Tensor &gradOutput, const Tensor &gradCy,
                       const Tensor &batchSizes, bool reverse,
                       Tensor &gradGates, Tensor &gradCx) {
  LstmSteps layer(cells, batchSizes, reverse);
  gradCx.copy_(gradCy);
  Backward(layer, gates.contiguous(), cells.contiguous(), cx.contiguous(),
           weight.contiguous(), gradOutput.contiguous(), gradGates, gradCx)
      .run();
}

void lstmLayerInput(const Tensor &gradGates, const Tensor &weight,
                    Tensor &gradInput) {
  constexpr int64_t kBlockRows = 64;
  Tensor gates = gradGates.contiguous(), dense = weight.contiguous();
  PackedMatrix packed = packedByUnits(dense);
  const float *from = gates.const_data_ptr<float>();
  float *to = gradInput.mutable_data_ptr<float>();
  int64_t places = gates[0].numel() / kLstmGates, width = dense.size(1);
  int64_t blocks = at::ceil_div(places, kBlockRows);
  forRanges(blocks * packed.panels(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i % packed.panels(),
              row = i / packed.panels() * kBlockRows;
      packed.multiply(panel,
                      gatesByRows(from + row * kLstmGates,
                                  dense.size(0) / kGatesPerUnit, places),
                      std::min(kBlockRows, places - row), false,
                      {to + row * width + panel * kPanelCols, width});
    }
  });
}

} // namespace ltc::backend
