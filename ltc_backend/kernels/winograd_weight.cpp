//===- winograd_weight.cpp - The gradient of a weight of 3x3 --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd.h"

#include "for_ranges.h"
#include "scratch.h"
#include "winograd_tiles.h"

#include <fbgemm/Utils.h>

#include <atomic>

namespace ltc::backend {
using at::Tensor;

namespace {

/// Tiles whose values for a panel the first-level cache holds.
constexpr int64_t kDepth = 256;

class WeightGrad {
public:
  WeightGrad(const Tensor &gradOutput, const Tensor &input, int64_t padding,
             const Tensor &gradWeight)
      : gradOutput(gradOutput), input(input), padding(padding),
        kernels(gradWeight.size(0)), channels(gradWeight.size(1)),
        spotStride(kernels * channels + kLineFloats),
        to(gradWeight.mutable_data_ptr<float>()), grid(gradOutput) {}

  bool run() {
    int64_t step = grid.passRows(channels + kernels), tiles = step * grid.cols;
    int64_t forInputs = Transformed::roomFor(channels, tiles),
            forGrads = Transformed::roomFor(kernels, tiles);
    float *room = winogradRoom(forInputs + forGrads + kAllSpots * spotStride);
    inputs = {room, channels, tiles};
    grads = {room + forInputs, kernels, tiles};
    sums = room + forInputs + forGrads;
    for (int64_t row = 0; row < grid.allRows(); row += step)
      add({row, std::min(grid.allRows(), row + step)});
    forRanges(kernels, [this](int64_t begin, int64_t end) {
      for (int64_t kernel = begin; kernel < end; ++kernel)
        write(kernel);
    });
    return isFinite;
  }

private:
  void add(Span rows) {
    readInput(input, grid, rows, padding, inputs);
    readGrad(gradOutput, grid, rows, grads);
    int64_t pairs = grads.panels() * inputs.panels();
    forRanges(kAllSpots * pairs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        multiply(i / pairs, i % pairs / inputs.panels(), i % inputs.panels(),
                 rows);
    });
  }

  void multiply(int64_t spot, int64_t kernel, int64_t channel, Span rows) {
    int64_t tiles = rows.size() * grid.cols;
    float *sum =
        sums + spot * spotStride + (kernel * channels + channel) * kPanelCols;
    for (int64_t tile = 0; tile < tiles; tile += kDepth)
      multiplyBlock({.rows = grads.panelWidth(kernel),
                     .cols = inputs.panelWidth(channel),
                     .depth = std::min(kDepth, tiles - tile),
                     .a = {grads.at(spot, kernel, tile), 1, kPanelCols},
                     .b = inputs.at(spot, channel, tile),
                     .accumulate = rows.begin != 0 || tile != 0,
                     .c = {sum, channels},
                     .prefetch = {}});
  }

  void write(int64_t kernel) {
    static thread_local Scratch scratch;
    float *places = scratch.reserve(9 * channels);
    bool finite = true;
    for (int64_t channel = 0; channel < channels; channel += kLanes)
      finite &= makeKernelGrad(sums + kernel * channels + channel, spotStride,
                               places + channel, channels);
    if (!finite)
      isFinite = false;
    fbgemm::transpose_simd<float>(9, channels, places, channels,
                                  to + kernel * channels * 9, 9);
  }

  const Tensor &gradOutput, &input;
  const int64_t padding, kernels, channels, spotStride;
  float *to;
  const TileGrid grid;
  Transformed inputs{}, grads{};
  float *sums = nullptr; ///< (spots, kernels, channels)
  std::atomic<bool> isFinite = true;
};

} // namespace

bool winogradWeightGrad(const Tensor &gradOutput, const Tensor &input,
                        int64_t padding, const Tensor &gradWeight) {
  return WeightGrad(gradOutput, input, padding, gradWeight).run();
}

} // namespace ltc::backend
