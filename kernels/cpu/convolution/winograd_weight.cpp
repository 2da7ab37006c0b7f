//===- winograd_weight.cpp - The gradient of a weight of 3x3 --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd.h"

#include "product/transpose.h"
#include "scratch.h"
#include "threads/for_ranges.h"
#include "winograd_tiles.h"

#include <atomic>

namespace ltc::kernels {

namespace {

/// Tiles whose values for a panel the first-level cache holds.
constexpr int64_t kDepth = 256;

/// Each reads the images once more: no more than there are threads for.
int64_t partsFor(unsigned threads) {
  return threads < 2 ? 1 : threads < kSpots ? 2 : kSpots;
}

class WeightGrad {
public:
  WeightGrad(const TensorView &gradOutput, const TensorView &input,
             int64_t padding, const TensorView &gradWeight)
      : gradOutput(gradOutput), input(input), padding(padding),
        kernels(gradWeight.size(0)), channels(gradWeight.size(1)),
        spotStride(kernels * channels + kLineFloats),
        to(gradWeight.as<float>()), grid(gradOutput),
        parts(partsFor(loopThreads())) {}

  bool run() {
    int64_t step = grid.passRows(channels + kernels);
    tilesOfPass = step * grid.cols;
    int64_t spots = kAllSpots / parts;
    inputs = {parts, Transformed::roomFor(channels, tilesOfPass, spots)};
    grads = {parts, Transformed::roomFor(kernels, tilesOfPass, spots)};
    sums = {parts, spots * spotStride};
    winogradRoom().reserve(inputs, grads, sums);
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
    auto place = [this](const Slots &slots, int64_t count) {
      return [=, this](SpotPart part, int64_t block, int64_t channel) {
        return Transformed{slots.at(part.part), count, tilesOfPass}.lanes(
            channel, block * grid.blockTiles());
      };
    };
    readInput(input, grid, rows, padding, parts, place(inputs, channels));
    readGrad(gradOutput, grid, rows, parts, place(grads, kernels));
    int64_t kernelPanels = Transformed::panelsOf(kernels);
    int64_t channelPanels = Transformed::panelsOf(channels);
    int64_t pairs = kernelPanels * channelPanels;
    forRanges(kAllSpots * pairs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        multiply(i / pairs, i % pairs / channelPanels, i % channelPanels, rows);
    });
  }

  void multiply(int64_t spot, int64_t kernel, int64_t channel, Span rows) {
    int64_t tiles = rows.size() * grid.cols;
    int64_t spots = kAllSpots / parts, part = spot / spots;
    spot %= spots;
    Transformed from{inputs.at(part), channels, tilesOfPass};
    Transformed grad{grads.at(part), kernels, tilesOfPass};
    float *sum = sums.at(part) + spot * spotStride +
                 (kernel * channels + channel) * kPanelCols;
    for (int64_t tile = 0; tile < tiles; tile += kDepth)
      multiplyBlock({.rows = grad.panelWidth(kernel),
                     .cols = from.panelWidth(channel),
                     .depth = std::min(kDepth, tiles - tile),
                     .a = {grad.at(spot, kernel, tile), 1, kPanelCols},
                     .b = from.at(spot, channel, tile),
                     .accumulate = rows.begin != 0 || tile != 0,
                     .c = {sum, channels},
                     .prefetch = {}});
  }

  void write(int64_t kernel) {
    static thread_local Scratch scratch;
    float *places = scratch.reserve(9 * channels);
    bool finite = true;
    const float *rows[kSpots];
    for (int64_t row = 0; row < kSpots; ++row) {
      int64_t rowsOfPart = kSpots / parts;
      rows[row] = sums.at(row / rowsOfPart) +
                  row % rowsOfPart * kSpots * spotStride + kernel * channels;
    }
    for (int64_t channel = 0; channel < channels; channel += kLanes)
      finite &= makeKernelGrad({rows[0] + channel, rows[1] + channel,
                                rows[2] + channel, rows[3] + channel},
                               spotStride, places + channel, channels);
    if (!finite)
      isFinite = false;
    transpose(9, channels, places, channels, to + kernel * channels * 9, 9);
  }

  const TensorView &gradOutput, &input;
  const int64_t padding, kernels, channels, spotStride;
  float *to;
  const TileGrid grid;
  // By parts of the spots, each of which is one thread's from the images to its
  // sums (spots, kernels, channels).
  const int64_t parts;
  Slots inputs, grads, sums;
  int64_t tilesOfPass = 0;
  std::atomic<bool> isFinite = true;
};

} // namespace

bool winogradWeightGrad(const TensorView &gradOutput, const TensorView &input,
                        int64_t padding, const TensorView &gradWeight) {
  return WeightGrad(gradOutput, input, padding, gradWeight).run();
}

} // namespace ltc::kernels
