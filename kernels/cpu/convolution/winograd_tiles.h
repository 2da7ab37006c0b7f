//===- winograd_tiles.h - Images and weights, transformed -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "product/pack.h"
#include "share_room.h"
#include "winograd_transforms.h"

#include <functional>

namespace ltc::kernels {

/// The values of `count` tiles, or kernels, at all spots or a part of them, for
/// each of some channels, which stand in panels: of one spot those of a panel's
/// channels for all tiles.
struct Transformed {
  float *data;
  int64_t channels, count;

  static int64_t panelsOf(int64_t channels) {
    return ceilDiv(channels, kPanelCols);
  }
  /// A line more than there are values: equal places of all spots would meet in
  /// one set of the first-level cache.
  static int64_t spotStrideOf(int64_t channels, int64_t count) {
    return panelsOf(channels) * count * kPanelCols + kLineFloats;
  }
  static int64_t roomFor(int64_t channels, int64_t count,
                         int64_t spots = kAllSpots) {
    return spots * spotStrideOf(channels, count);
  }

  int64_t spotStride() const { return spotStrideOf(channels, count); }
  int64_t panels() const { return panelsOf(channels); }
  int64_t panelWidth(int64_t panel) const {
    return std::min(kPanelCols, channels - panel * kPanelCols);
  }
  float *at(int64_t spot, int64_t panel, int64_t index) const {
    return data + spot * spotStride() + (panel * count + index) * kPanelCols;
  }
  /// kLanes channels from `channel` on.
  TileValues lanes(int64_t channel, int64_t index) const {
    return {at(0, channel / kPanelCols, index) + channel % kPanelCols,
            spotStride()};
  }
};

/// The tiles of a convolution's output: so many rows of them in each image.
struct TileGrid {
  /// Of `output` (N, K, H, W).
  explicit TileGrid(const TensorView &output);

  int64_t allRows() const { return images * rows; }
  /// Whose tiles one task takes: equal parts of all.
  int64_t blockRows() const {
    return equalPart(std::max<int64_t>(1, kBlockTiles / cols));
  }
  int64_t blockTiles() const { return blockRows() * cols; }
  int64_t blocksOf(Span someRows) const {
    return ceilDiv(someRows.size(), blockRows());
  }
  /// Floats of kLanes channels at the places that a block reads or writes.
  int64_t blockRoom() const {
    return (kTile * blockRows() + 2) * kTile * (cols + 1) * kLanes;
  }
  /// Whose tiles one pass takes: with `channels` they need 4 MiB at most.
  int64_t passRows(int64_t channels) const {
    constexpr int64_t kFloats = int64_t(1) << 20;
    return equalPart(
        std::max<int64_t>(1, kFloats / (kAllSpots * channels * cols)));
  }

  int64_t images, rows, cols;

private:
  static constexpr int64_t kBlockTiles = 64;
  int64_t equalPart(int64_t most) const {
    return ceilDiv(allRows(), ceilDiv(allRows(), most));
  }
};

/// The calling thread's, for all that a call transforms, until its next.
ShareRoom &winogradRoom();

/// Rows of tiles, counted through all images: `work(image, rows of it, tiles
/// before them)` for each image that has some.
template <typename Work>
void forImages(const TileGrid &grid, Span rows, const Work &work) {
  for (int64_t row = rows.begin, next; row < rows.end; row = next) {
    int64_t image = row / grid.rows, first = image * grid.rows;
    next = std::min(rows.end, first + grid.rows);
    work(image, Span{row - first, next - first},
         (row - rows.begin) * grid.cols);
  }
}

/// Where a block's values are put, from its first tile on: of kLanes channels
/// from `channel` on, at the spots of `part`.
using TilePlace =
    std::function<TileValues(SpotPart part, int64_t block, int64_t channel)>;

/// The tiles of some rows of an input (N, C, H, W), around which are `padding`
/// zeros, or of an output's gradient, in blocks, and in so many parts of their
/// spots; on all threads, each with a part or with blocks in order.
void readInput(const TensorView &input, const TileGrid &grid, Span rows,
               int64_t padding, int64_t parts, const TilePlace &place);
void readGrad(const TensorView &grad, const TileGrid &grid, Span rows,
              int64_t parts, const TilePlace &place);

/// Where values of kLanes channels from `channel` on are put, from `kernel` on.
using KernelPlace = std::function<TileValues(int64_t channel, int64_t kernel)>;

/// A weight (K, C, 3, 3) as C kernels for each of K channels; `turned`: as K
/// kernels, turned by 180 degrees, for each of C. On all threads, each with
/// channels in order.
void readWeight(const TensorView &weight, bool turned,
                const KernelPlace &place);

} // namespace ltc::kernels
