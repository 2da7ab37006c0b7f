//===- kernels/lstm.cpp - One layer of an LSTM over all its times ---------===//
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

#include "for_ranges.h"
#include "lstm_cell.h"
#include "pack.h"

#include <ATen/ATen.h>

#include <cstring>

namespace ltc::backend {
using at::Tensor;

namespace {

constexpr int64_t kGates = 4;
static_assert(PackedMatrix::kCols == kLstmGates);
/// Batch entries of a tile: more tiles than panels alone give many threads
/// work, and the gates of one stay in the cache.
constexpr int64_t kRows = 32;
constexpr int64_t kLine = 16; ///< floats of a cache line

/// The sizes of a layer, and the order in which it meets its times.
struct Layer {
  Layer(const Tensor &output, bool reverse)
      : times(output.size(0)), batch(output.size(1)), hidden(output.size(2)),
        reverse(reverse) {}

  /// The i-th time in the order of the recurrence.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (time(i) * batch + b) * width;
  }
  /// Of the gates: those of kLstmUnits units of all batch entries stand
  /// together.
  template <typename T>
  T *gates(T *data, int64_t i, int64_t units, int64_t b) const {
    int64_t blocks = lstmUnitBlocks(hidden);
    return data + ((time(i) * blocks + units) * batch + b) * kLstmGates;
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
      work(Tile{panel, panel * weight.groupCols(), weight.panelWidth(panel),
                row, std::min(kRows, layer.batch - row)});
    }
  });
}

/// A layer's weight, read by columns.
GemmOperand turned(const Tensor &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {weight.const_data_ptr<float>(), cols, rows, 1, cols};
}

class Forward {
public:
  Forward(const Layer &layer, const LstmInputs &from, Tensor &output,
          Tensor &cells, Tensor &gates)
      : layer(layer), features(from.input.size(2)),
        block(std::clamp<int64_t>(kRows / layer.batch, 1, layer.times)),
        input(from.input.const_data_ptr<float>()),
        hx(from.hx.const_data_ptr<float>()),
        cx(from.cx.const_data_ptr<float>()),
        output(output.mutable_data_ptr<float>()),
        cells(cells.mutable_data_ptr<float>()),
        gates(gates.mutable_data_ptr<float>()),
        inputWeight(turned(from.inputWeight), kGates),
        weight(turned(from.weight), kGates), bias(weight.panels() * kLstmGates),
        products(weight.panels() * block * layer.batch * kLstmGates) {
    const float *data = from.bias.const_data_ptr<float>();
    for (int64_t i = 0; i < kGates * layer.hidden; ++i) {
      int64_t gate = i / layer.hidden, unit = i % layer.hidden;
      bias[unit / kLstmUnits * kLstmGates + gate * kLstmUnits +
           unit % kLstmUnits] = data[i];
    }
  }

  void run() {
    for (int64_t i = 0; i < layer.times; ++i)
      forTiles(layer, weight, [&](const Tile &tile) { apply(i, tile); });
  }

private:
  /// With the inputs of several times at once where batches are small: a weight
  /// is read as often as this is called.
  void multiplyInput(int64_t i, int64_t times, const Tile &at, float *to) {
    int64_t first = layer.reverse ? i + times - 1 : i;
    inputWeight.multiply(at.panel, layer.row(input, first, at.row, features),
                         (times - 1) * layer.batch + at.rows, features, false,
                         to, kLstmGates);
  }

  void apply(int64_t i, const Tile &at) {
    int64_t h = layer.hidden, place = i % block;
    int64_t times = std::min(block, layer.times - (i - place));
    float *made = products.data() +
                  (at.panel * block * layer.batch + at.row) * kLstmGates;
    if (place == 0)
      multiplyInput(i, times, at, made);
    made +=
        (layer.reverse ? times - 1 - place : place) * layer.batch * kLstmGates;
    const float *state =
        i == 0 ? hx + at.row * h : layer.row(output, i - 1, at.row, h);
    float *to = layer.gates(gates, i, at.panel, at.row);
    weight.multiply(at.panel, state, at.rows, h, true, made, kLstmGates,
                    {to, kLine, 1});
    const float *before =
        i == 0 ? cx + at.row * h : layer.row(cells, i - 1, at.row, h);
    lstmCell({at.rows, at.units, h, before + at.col}, made,
             bias.data() + at.panel * kLstmGates, to,
             layer.row(cells, i, at.row, h) + at.col,
             layer.row(output, i, at.row, h) + at.col);
  }

  const Layer &layer;
  const int64_t features, block; ///< times in one product with the input
  const float *input, *hx, *cx;
  float *output, *cells, *gates;
  PackedMatrix inputWeight, weight;
  std::vector<float> bias;     ///< packed as the weights
  std::vector<float> products; ///< of a block of times, a panel's together
};

class Backward {
public:
  Backward(const Layer &layer, const Tensor &gradOutput, const Tensor &cx,
           const Tensor &weight, const Tensor &cells, const Tensor &gates,
           Tensor &gradProjected, Tensor &gradCx)
      : layer(layer), gradOutput(gradOutput.const_data_ptr<float>()),
        cx(cx.const_data_ptr<float>()), cells(cells.const_data_ptr<float>()),
        gates(gates.const_data_ptr<float>()),
        gradProjected(gradProjected.mutable_data_ptr<float>()),
        gradCell(gradCx.mutable_data_ptr<float>()),
        weight({weight.const_data_ptr<float>(), kGates * layer.hidden,
                layer.hidden, layer.hidden, 1}) {}

  /// `gradCell` holds the gradient of the last state of the cell.
  void run() {
    for (int64_t i = layer.times; i-- > 0;)
      forTiles(layer, weight, [&](const Tile &tile) { apply(i, tile); });
  }

private:
  void apply(int64_t i, const Tile &at) {
    int64_t h = layer.hidden, width = kGates * h;
    // Of the state after this time, by the next one.
    alignas(64) float gradState[kRows * PackedMatrix::kCols];
    if (i + 1 < layer.times)
      weight.multiply(
          at.panel, layer.row(gradProjected, i + 1, at.row, width), at.rows,
          width, false, gradState, PackedMatrix::kCols,
          {layer.gates(gates, i, at.col / kLstmUnits, at.row), kLine, 1});
    else
      std::memset(gradState, 0, sizeof(gradState));
    const float *before =
        i == 0 ? cx + at.row * h : layer.row(cells, i - 1, at.row, h);
    for (int64_t col = at.col; col < at.col + at.units; col += kLstmUnits) {
      int64_t units = std::min(kLstmUnits, at.col + at.units - col);
      lstmCellBackward({at.rows, units, h, before + col},
                       layer.gates(gates, i, col / kLstmUnits, at.row),
                       layer.row(cells, i, at.row, h) + col,
                       {layer.row(gradOutput, i, at.row, h) + col,
                        gradState + col - at.col, PackedMatrix::kCols,
                        gradCell + at.row * h + col,
                        layer.row(gradProjected, i, at.row, width) + col, h});
    }
  }

  const Layer &layer;
  const float *gradOutput, *cx, *cells, *gates;
  float *gradProjected, *gradCell;
  PackedMatrix weight;
};

} // namespace

int64_t lstmUnitBlocks(int64_t hidden) {
  return (hidden + kLstmUnits - 1) / kLstmUnits;
}

bool hasLstmLayer() { return PackedMatrix::isSupported(); }

void lstmLayer(const LstmInputs &from, bool reverse, Tensor &output,
               Tensor &cells, Tensor &gates) {
  LstmInputs dense{from.input.contiguous(),  from.hx.contiguous(),
                   from.cx.contiguous(),     from.inputWeight.contiguous(),
                   from.weight.contiguous(), from.bias.contiguous()};
  Layer layer(output, reverse);
  Forward(layer, dense, output, cells, gates).run();
}

void lstmLayerBackward(const Tensor &gradOutput, const Tensor &gradCy,
                       const Tensor &cx, const Tensor &weight,
                       const Tensor &cells, const Tensor &gates, bool reverse,
                       Tensor &gradProjected, Tensor &gradCx) {
  Layer layer(cells, reverse);
  gradCx.copy_(gradCy);
  Backward(layer, gradOutput.contiguous(), cx.contiguous(), weight.contiguous(),
           cells.contiguous(), gates.contiguous(), gradProjected, gradCx)
      .run();
}

} // namespace ltc::backend
