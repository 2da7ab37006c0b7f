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
  /// Of the gates: those of a block of units stand together, at all times.
  template <typename T>
  T *gates(T *data, int64_t i, int64_t block, int64_t b) const {
    return data + ((block * times + time(i)) * batch + b) * kLstmGates;
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

/// What a tile's product brings near, while it is `depth` deep, of each of
/// `blocks` of units.
SoonRead soonOf(const Layer &layer, const float *gates, const Tile &at,
                int64_t blocks, int64_t depth) {
  return {gates, std::max<int64_t>(1, at.rows * kLstmGates / depth), blocks,
          layer.times * layer.batch * kLstmGates};
}

/// Rows of gates or their gradients, the first of whose first block is `first`,
/// of so many places, which are pairs of a time and a batch entry.
BlockLeft gatesByRows(const float *first, int64_t hidden, int64_t places) {
  return {first, kLstmGates, 1, lstmUnitBlocks(hidden), places * kLstmGates};
}

/// A weight that such rows are multiplied by.
PackedMatrix packedByUnits(const Tensor &weight) {
  int64_t rows = weight.size(0), cols = weight.size(1);
  return {{weight.const_data_ptr<float>(), rows, cols, cols, 1},
          {.rows = kGates}};
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
        inputWeight(turned(from.inputWeight), {.cols = kGates}),
        weight(turned(from.weight), {.cols = kGates}),
        bias(weight.panels() * kLstmGates),
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
    inputWeight.multiply(
        at.panel, {layer.row(input, first, at.row, features), features, 1},
        (times - 1) * layer.batch + at.rows, false, to, kLstmGates);
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
    weight.multiply(at.panel, {state, h, 1}, at.rows, true, made, kLstmGates,
                    soonOf(layer, to, at, 1, h));
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
  Backward(const Layer &layer, const Tensor &gates, const Tensor &cells,
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
      forTiles(layer, weight, [&](const Tile &tile) { apply(i, tile); });
  }

private:
  void apply(int64_t i, const Tile &at) {
    int64_t h = layer.hidden, places = layer.times * layer.batch;
    // Of the state after this time, by the next one.
    alignas(64) float gradState[kRows * PackedMatrix::kCols];
    if (i + 1 < layer.times)
      weight.multiply(
          at.panel,
          gatesByRows(layer.gates(gradGates, i + 1, 0, at.row), h, places),
          at.rows, false, gradState, PackedMatrix::kCols,
          soonOf(layer, layer.gates(gates, i, at.col / kLstmUnits, at.row), at,
                 lstmUnitBlocks(at.units), kGates * h));
    else
      std::memset(gradState, 0, sizeof(gradState));
    const float *before =
        i == 0 ? cx + at.row * h : layer.row(cells, i - 1, at.row, h);
    for (int64_t col = at.col; col < at.col + at.units; col += kLstmUnits) {
      int64_t units = std::min(kLstmUnits, at.col + at.units - col);
      int64_t block = col / kLstmUnits;
      lstmCellBackward({at.rows, units, h, before + col},
                       layer.gates(gates, i, block, at.row),
                       layer.row(cells, i, at.row, h) + col,
                       {layer.row(gradOutput, i, at.row, h) + col,
                        gradState + col - at.col, PackedMatrix::kCols,
                        gradCell + at.row * h + col,
                        layer.gates(gradGates, i, block, at.row)});
    }
  }

  const Layer &layer;
  const float *gates, *cells, *cx, *gradOutput;
  float *gradGates, *gradCell;
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

void lstmLayerBackward(const Tensor &gates, const Tensor &cells,
                       const Tensor &cx, const Tensor &weight,
                       const Tensor &gradOutput, const Tensor &gradCy,
                       bool reverse, Tensor &gradGates, Tensor &gradCx) {
  Layer layer(cells, reverse);
  gradCx.copy_(gradCy);
  Backward(layer, gates.contiguous(), cells.contiguous(), cx.contiguous(),
           weight.contiguous(), gradOutput.contiguous(), gradGates, gradCx)
      .run();
}

void lstmLayerInput(const Tensor &gradGates, const Tensor &weight,
                    Tensor &gradInput) {
  constexpr int64_t kBlock = 64;
  Tensor gates = gradGates.contiguous(), dense = weight.contiguous();
  PackedMatrix packed = packedByUnits(dense);
  const float *from = gates.const_data_ptr<float>();
  float *to = gradInput.mutable_data_ptr<float>();
  int64_t places = gates.size(1) * gates.size(2), width = dense.size(1);
  int64_t blocks = (places + kBlock - 1) / kBlock;
  forRanges(blocks * packed.panels(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i % packed.panels(), row = i / packed.panels() * kBlock;
      packed.multiply(
          panel,
          gatesByRows(from + row * kLstmGates, dense.size(0) / kGates, places),
          std::min(kBlock, places - row), false,
          to + row * width + panel * PackedMatrix::kCols, width);
    }
  });
}

} // namespace ltc::backend
