//===- lstm_weights.cpp - Gradients of the weights of an LSTM -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both weights' gradients have the gradients of the gates as their left side.
// A block of units has those of all times together, so that they are read
// where they lie; the inputs and the states before are packed.
//
//===----------------------------------------------------------------------===//
#include "lstm.h"
#include "lstm_cell.h"
#include "product/block_product.h"
#include "recurrent_steps.h"
#include "scratch.h"
#include "threads/for_ranges.h"

#include <algorithm>
#include <cstring>

namespace ltc::kernels {

namespace {

/// Places (a time and a batch entry) of a pass, whose panels a second-level
/// cache holds, and of a product.
constexpr int64_t kDepth = 1024, kChunk = 256;

class WeightGrads {
public:
  WeightGrads(const RecurrentSteps &layer, const TensorView &gates,
              const TensorView &input, const TensorView &hx,
              const TensorView &output, const TensorView &gradInputWeight,
              const TensorView &gradWeight, const TensorView &gradBias)
      : places(layer.rows), features(input.size(-1)), hidden(layer.hidden),
        gates(gates.as<float>()), input(input.as<float>()),
        before(layer.allBefore(hx.as<float>(), output.as<float>())),
        gradInputWeight(gradInputWeight.as<float>()),
        gradWeight(gradWeight.as<float>()), gradBias(gradBias.as<float>()) {}

  void run() {
    static thread_local Scratch scratch;
    packed = scratch.reserve(panels() * kPanelCols * std::min(kDepth, places));
    for (first = 0; first < places; first += kDepth) {
      depth = std::min(kDepth, places - first);
      forRanges(panels(), [this](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          pack(i);
      });
      forRanges(blocks() * panels(), [this](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          multiply(i / panels(), i % panels(), i + 1 < end);
      });
    }
  }

private:
  /// Columns of one of the right sides.
  struct Panel {
    int64_t col, cols;
    bool isInput;
  };

  static int64_t panelsOf(int64_t cols) { return ceilDiv(cols, kPanelCols); }
  int64_t panels() const { return panelsOf(features) + panelsOf(hidden); }
  int64_t blocks() const { return lstmUnitBlocks(hidden); }

  Panel panelAt(int64_t index) const {
    int64_t ofInput = panelsOf(features);
    bool isInput = index < ofInput;
    int64_t col = (isInput ? index : index - ofInput) * kPanelCols;
    int64_t width = isInput ? features : hidden;
    return {col, std::min(kPanelCols, width - col), isInput};
  }

  void pack(int64_t index) {
    Panel at = panelAt(index);
    float *to = packed + index * depth * kPanelCols;
    for (int64_t place = first; place < first + depth; ++place) {
      const float *row = at.isInput ? input + place * features : before[place];
      std::memcpy(to, row + at.col, at.cols * sizeof(float));
      to += kPanelCols;
    }
  }

  void multiply(int64_t block, int64_t index, bool goesOn) {
    Panel at = panelAt(index);
    const float *left = gates + (block * places + first) * kLstmGates;
    const float *right = packed + index * depth * kPanelCols;
    int64_t unit = block * kLstmUnits;
    int64_t units = std::min(kLstmUnits, hidden - unit);
    int64_t width = at.isInput ? features : hidden;
    float *to = (at.isInput ? gradInputWeight : gradWeight) + at.col;
    // The next block's, which stands behind those of all places.
    bool fetches = goesOn && index + 1 == panels();
    for (int64_t k = 0; k < depth; k += kChunk) {
      const float *chunk = left + k * kLstmGates;
      int64_t rows = std::min(kChunk, depth - k);
      if (index == 0)
        sumBias(unit, units, chunk, rows, first + k == 0);
      for (int64_t gate = 0; gate < kGatesPerUnit; ++gate) {
        const float *a = chunk + gate * kLstmUnits;
        multiplyBlock(
            {.rows = units,
             .cols = at.cols,
             .depth = rows,
             .a = {a, 1, kLstmGates},
             .b = right + k * kPanelCols,
             .accumulate = first + k != 0,
             .c = {to + (gate * hidden + unit) * width, width},
             .prefetch = {a + places * kLstmGates, kLstmGates, fetches}});
      }
    }
  }

  void sumBias(int64_t unit, int64_t units, const float *chunk, int64_t rows,
               bool begins) {
    float sum[kLstmGates] = {};
    addLstmGates(rows, chunk, sum);
    for (int64_t gate = 0; gate < kGatesPerUnit; ++gate)
      for (int64_t i = 0; i < units; ++i) {
        float &to = gradBias[gate * hidden + unit + i];
        to = (begins ? 0 : to) + sum[gate * kLstmUnits + i];
      }
  }

  const int64_t places, features, hidden;
  const float *gates, *input;
  const std::vector<const float *> before; ///< each place's state
  float *gradInputWeight, *gradWeight, *gradBias;
  float *packed;
  int64_t first, depth; ///< the places of this pass
};

} // namespace

void lstmLayerWeights(const TensorView &gradGates, const TensorView &input,
                      const TensorView &hx, const TensorView &output,
                      const TensorView &batchSizes, bool reverse,
                      const TensorView &gradInputWeight,
                      const TensorView &gradWeight,
                      const TensorView &gradBias) {
  WeightGrads(RecurrentSteps(output, batchSizes, reverse), gradGates, input, hx,
              output, gradInputWeight, gradWeight, gradBias)
      .run();
}

} // namespace ltc::kernels
