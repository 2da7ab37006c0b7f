//===- winograd.cpp - Convolutions of 3x3 with fewer products -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd.h"

#include "patches.h"
#include "product/transpose.h"
#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"
#include "winograd_tiles.h"

#include <atomic>

namespace ltc::kernels {

namespace {

class Convolution {
public:
  Convolution(const TensorView &input, const TensorView &bias, int64_t padding,
              const TensorView &output)
      : input(input), output(output),
        bias(bias.isDefined() ? bias.as<float>() : nullptr), padding(padding),
        channels(input.size(1)), kernels(output.size(1)),
        panels(Transformed::panelsOf(kernels)), grid(output) {}

  /// `turned`: by the weight of the input's gradient.
  bool run(const TensorView &by, bool turned) {
    int64_t step = grid.passRows(channels);
    int64_t blocks = grid.blocksOf({0, step});
    weights = {panels, Transformed::roomFor(kPanelCols, channels)};
    values = {blocks, Transformed::roomFor(channels, grid.blockTiles())};
    winogradRoom().reserve(weights, values);
    readWeight(by, turned, [this](int64_t channel, int64_t kernel) {
      return weightOf(channel / kPanelCols).lanes(channel % kPanelCols, kernel);
    });
    // Of the larger side a thread multiplies what it transformed.
    bool byPanels = kernels > step * grid.cols;
    for (int64_t row = 0; row < grid.allRows(); row += step) {
      pass = {row, std::min(grid.allRows(), row + step)};
      readInput(input, grid, pass, padding, /*parts=*/1,
                [this](SpotPart, int64_t block, int64_t channel) {
                  return valuesOf(block).lanes(channel, 0);
                });
      blocks = grid.blocksOf(pass);
      forRanges(blocks * panels, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          if (byPanels)
            multiply(i % blocks, i / blocks);
          else
            multiply(i / panels, i % panels);
      });
    }
    return isFinite;
  }

private:
  Transformed weightOf(int64_t panel) const {
    return {weights.at(panel), kPanelCols, channels};
  }
  Transformed valuesOf(int64_t block) const {
    return {values.at(block), channels, grid.blockTiles()};
  }
  int64_t panelWidth(int64_t panel) const {
    return std::min(kPanelCols, kernels - panel * kPanelCols);
  }

  void multiply(int64_t block, int64_t panel) {
    static thread_local Scratch scratch;
    int64_t row = pass.begin + block * grid.blockRows();
    Span rows{row, std::min(pass.end, row + grid.blockRows())};
    int64_t tiles = rows.size() * grid.cols;
    int64_t spotStride = Transformed::spotStrideOf(kPanelCols, tiles);
    float *products = scratch.reserve(
        Transformed::roomFor(kPanelCols, grid.blockTiles()) + grid.blockRoom());
    for (int64_t spot = 0; spot < kAllSpots; ++spot)
      multiplySpot(spot, block, panel, tiles, products + spot * spotStride);
    float *places = products + kAllSpots * spotStride;
    forImages(grid, rows, [&](int64_t image, Span ofImage, int64_t before) {
      for (int64_t lane = 0; lane < panelWidth(panel); lane += kLanes)
        write(image, ofImage, panel * kPanelCols + lane,
              {products + before * kPanelCols + lane, spotStride}, places);
    });
  }

  void multiplySpot(int64_t spot, int64_t block, int64_t panel, int64_t tiles,
                    float *to) const {
    int64_t whole = channels / kPanelCols, rest = channels % kPanelCols;
    Transformed from = valuesOf(block), weight = weightOf(panel);
    BlockProduct product{.rows = tiles,
                         .cols = panelWidth(panel),
                         .depth = kPanelCols,
                         .a = {from.at(spot, 0, 0), kPanelCols, 1, whole,
                               from.count * kPanelCols},
                         .b = weight.at(spot, 0, 0),
                         .accumulate = false,
                         .c = {to, kPanelCols},
                         .prefetch = {}};
    if (whole)
      multiplyBlock(product);
    if (!rest)
      return;
    product.depth = rest;
    product.a = {from.at(spot, whole, 0), kPanelCols, 1};
    product.b = weight.at(spot, 0, whole * kPanelCols);
    product.accumulate = whole != 0;
    multiplyBlock(product);
  }

  /// Some rows of tiles of kLanes channels of an image.
  void write(int64_t image, Span rows, int64_t channel, TileValues from,
             float *places) {
    int64_t height = output.size(2), width = output.size(3);
    int64_t top = rows.begin * kTile;
    bool finite = true;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      int64_t y = row * kTile;
      float *line = places + (y - top) * width * kLanes;
      finite &= makeOutput(
          from, grid.cols, bias ? bias + channel : nullptr,
          {line, y + 1 < height ? line + width * kLanes : nullptr}, width);
      from.data += grid.cols * kPanelCols;
    }
    if (!finite)
      isFinite = false;
    int64_t lines = std::min(height, rows.end * kTile) - top;
    int64_t plane = height * width;
    float *to = output.as<float>() +
                (image * output.size(1) + channel) * plane + top * width;
    transpose(lines * width, kLanes, places, kLanes, to, plane);
  }

  const TensorView &input, &output;
  const float *bias;
  const int64_t padding, channels, kernels, panels;
  const TileGrid grid;
  Slots weights; ///< by panels of kernels
  Slots values;  ///< by blocks of the pass
  Span pass{};
  std::atomic<bool> isFinite = true;
};

} // namespace

bool winogradPays(Winograd which, Sizes input, Sizes weight, int64_t padding) {
  if (!hasVectors() || input.size() != 4 || weight.size() != 4 ||
      weight[2] != 3 || weight[3] != 3 || padding < 0 || padding > 2)
    return false;
  int64_t height = input[2] + 2 * padding - 2;
  int64_t width = input[3] + 2 * padding - 2;
  // Of fewer channels the transforms are what takes the time; more, and wider
  // images, would take more scratch than is promised.
  bool isWeight = which == Winograd::WeightGrad;
  bool mapped = isMapped(input) ||
                isMapped(std::array{input[0], weight[0], height, width});
  int64_t fewest = isWeight || mapped ? 32 : 64;
  constexpr int64_t kMost = 1024, kWidest = 512, kMostPairs = int64_t(1) << 19;
  if (weight[0] % kLanes || weight[1] % kLanes || weight[0] < fewest ||
      weight[1] < fewest || weight[0] > kMost || weight[1] > kMost ||
      weight[0] * weight[1] > kMostPairs || height < 1 || width < 1 ||
      width > kWidest)
    return false;
  // In products for each pair of channels. A weight's transform takes the time
  // of some thousand, with AVX2 of more, as measured for images of 7x7;
  // oneDNN's gradients of weights have one of their own.
  int64_t ofWeight = isWeight ? 0 : hasWideVectors() ? 1000 : 2500;
  int64_t tiles = input[0] * ceilDiv(height, kTile) * ceilDiv(width, kTile);
  int64_t direct = 9 * input[0] * height * width;
  int64_t ours = kAllSpots * tiles + ofWeight;
  return direct * 9 / 10 > ours;
}

bool winogradConvolution(const TensorView &input, const TensorView &weight,
                         const TensorView &bias, int64_t padding,
                         const TensorView &output) {
  return Convolution(input, bias, padding, output).run(weight, false);
}

bool winogradInputGrad(const TensorView &gradOutput, const TensorView &weight,
                       int64_t padding, const TensorView &gradInput) {
  return Convolution(gradOutput, {}, 2 - padding, gradInput).run(weight, true);
}

} // namespace ltc::kernels
