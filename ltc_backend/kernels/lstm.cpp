//===- kernels/lstm.cpp - One layer of an LSTM over all its times ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each time, a tile of hidden units is made by one thread: its share of the
// product with the state before, added to what comes from the input, and then
// the gates, while both are in the cache. The weight is packed once.
//
//===----------------------------------------------------------------------===//
#include "lstm.h"

#include "for_ranges.h"
#include "lstm_cell.h"
#include "pack.h"

#include <ATen/ATen.h>

#include <cstring>

namespace ltc::backend {
using at::Tensor;

namespace {

constexpr int64_t kGates = 4, kUnits = PackedMatrix::kCols;
/// Batch entries of a tile: more tiles than panels alone give many threads
/// work, and the gates of one stay in the cache.
constexpr int64_t kRows = 32;

/// The sizes of a layer, and the order in which it meets its times.
struct Layer {
  Layer(const Tensor &gates, bool reverse)
      : times(gates.size(0)), batch(gates.size(1)),
        hidden(gates.size(2) / kGates), reverse(reverse) {}

  /// The i-th time in the order of the recurrence.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (time(i) * batch + b) * width;
  }

  const int64_t times, batch, hidden;
  const bool reverse;
};

/// Some hidden units of some batch entries: what a thread does at a time.
struct Tile {
  int64_t panel, col, units; ///< which units: a panel of the packed weight
  int64_t row, rows;         ///< which batch entries
};

/// `work` on all tiles of one time, on all threads.
template <typename Work>
void forTiles(const Layer &layer, const PackedMatrix &weight,
              const Work &work) {
  int64_t blocks = (layer.batch + kRows - 1) / kRows;
  forRanges(weight.panels() * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i / blocks, row = i % blocks * kRows;
      work(Tile{panel, panel * kUnits, weight.panelWidth(panel), row,
                std::min(kRows, layer.batch - row)});
    }
  });
}

class Forward {
public:
  Forward(const Layer &layer, const Tensor &projected, const Tensor &hx,
          const Tensor &cx, const Tensor &weight, Tensor &output, Tensor &cells,
          Tensor &gates)
      : layer(layer), projected(projected.const_data_ptr<float>()),
        hx(hx.const_data_ptr<float>()), cx(cx.const_data_ptr<float>()),
        output(output.mutable_data_ptr<float>()),
        cells(cells.mutable_data_ptr<float>()),
        gates(gates.mutable_data_ptr<float>()) {
    const float *data = weight.const_data_ptr<float>();
    int64_t h = layer.hidden;
    for (int64_t gate = 0; gate < kGates; ++gate)
      weights.emplace_back(GemmOperand{data + gate * h * h, h, h, 1, h});
  }

  void run() {
    for (int64_t i = 0; i < layer.times; ++i)
      forTiles(layer, weights[0], [&](const Tile &tile) { apply(i, tile); });
  }

private:
  void apply(int64_t i, const Tile &at) {
    int64_t h = layer.hidden;
    const float *state =
        i == 0 ? hx + at.row * h : layer.row(output, i - 1, at.row, h);
    for (int64_t gate = 0; gate < kGates; ++gate) {
      int64_t place = gate * h + at.col;
      for (int64_t b = at.row; b < at.row + at.rows; ++b)
        std::memcpy(layer.row(gates, i, b, kGates * h) + place,
                    layer.row(projected, i, b, kGates * h) + place,
                    at.units * sizeof(float));
      weights[gate].multiply(at.panel, state, at.rows, h, true,
                             layer.row(gates, i, at.row, kGates * h) + place,
                             kGates * h);
    }
    for (int64_t b = at.row; b < at.row + at.rows; ++b) {
      const float *before =
          (i == 0 ? cx + b * h : layer.row(cells, i - 1, b, h)) + at.col;
      lstmCell({at.units, h, before},
               layer.row(gates, i, b, kGates * h) + at.col,
               layer.row(cells, i, b, h) + at.col,
               layer.row(output, i, b, h) + at.col);
    }
  }

  const Layer &layer;
  const float *projected, *hx, *cx;
  float *output, *cells, *gates;
  std::vector<PackedMatrix> weights; ///< a gate's each, turned over
};

class Backward {
public:
  Backward(const Layer &layer, const Tensor &gradOutput, const Tensor &cx,
           const Tensor &weight, const Tensor &cells, const Tensor &gates,
           Tensor &gradProjected, Tensor &gradHx, Tensor &gradCx)
      : layer(layer), gradOutput(gradOutput.const_data_ptr<float>()),
        cx(cx.const_data_ptr<float>()), cells(cells.const_data_ptr<float>()),
        gates(gates.const_data_ptr<float>()),
        gradProjected(gradProjected.mutable_data_ptr<float>()),
        gradHx(gradHx.mutable_data_ptr<float>()),
        gradCell(gradCx.mutable_data_ptr<float>()),
        weight({weight.const_data_ptr<float>(), kGates * layer.hidden,
                layer.hidden, layer.hidden, 1}) {}

  /// `gradCell` holds the gradient of the last state of the cell.
  void run() {
    for (int64_t i = layer.times; i-- > 0;)
      forTiles(layer, weight, [&](const Tile &tile) { apply(i, tile); });
    forTiles(layer, weight, [&](const Tile &tile) {
      multiply(0, tile, gradHx + tile.row * layer.hidden + tile.col,
               layer.hidden);
    });
  }

private:
  /// What the gates at the i-th time give to the state before it.
  void multiply(int64_t i, const Tile &at, float *to, int64_t stride) {
    int64_t width = kGates * layer.hidden;
    weight.multiply(at.panel, layer.row(gradProjected, i, at.row, width),
                    at.rows, width, false, to, stride);
  }

  void apply(int64_t i, const Tile &at) {
    int64_t h = layer.hidden;
    // Of the state after this time: by the next one, and by the output.
    alignas(64) float gradState[kRows * kUnits];
    if (i + 1 < layer.times)
      multiply(i + 1, at, gradState, kUnits);
    else
      std::memset(gradState, 0, sizeof(gradState));
    for (int64_t r = 0; r < at.rows; ++r) {
      int64_t b = at.row + r;
      const float *before =
          (i == 0 ? cx + b * h : layer.row(cells, i - 1, b, h)) + at.col;
      lstmCellBackward({at.units, h, before},
                       layer.row(gates, i, b, kGates * h) + at.col,
                       layer.row(cells, i, b, h) + at.col,
                       layer.row(gradOutput, i, b, h) + at.col,
                       gradState + r * kUnits, gradCell + b * h + at.col,
                       layer.row(gradProjected, i, b, kGates * h) + at.col);
    }
  }

  const Layer &layer;
  const float *gradOutput, *cx, *cells, *gates;
  float *gradProjected, *gradHx, *gradCell;
  PackedMatrix weight;
};

} // namespace

bool hasLstmLayer() { return PackedMatrix::isSupported(); }

void lstmLayer(const Tensor &projected, const Tensor &hx, const Tensor &cx,
               const Tensor &weight, bool reverse, Tensor &output,
               Tensor &cells, Tensor &gates) {
  Layer layer(projected, reverse);
  Forward(layer, projected.contiguous(), hx.contiguous(), cx.contiguous(),
          weight.contiguous(), output, cells, gates)
      .run();
}

void lstmLayerBackward(const Tensor &gradOutput, const Tensor &gradCy,
                       const Tensor &cx, const Tensor &weight,
                       const Tensor &cells, const Tensor &gates, bool reverse,
                       Tensor &gradProjected, Tensor &gradHx, Tensor &gradCx) {
  Layer layer(gates, reverse);
  gradCx.copy_(gradCy);
  Backward(layer, gradOutput.contiguous(), cx.contiguous(), weight.contiguous(),
           cells.contiguous(), gates.contiguous(), gradProjected, gradHx,
           gradCx)
      .run();
}

} // namespace ltc::backend
