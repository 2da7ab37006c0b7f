//===- winograd_tiles.cpp - Images and weights, transformed ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd_tiles.h"

#include "product/transpose.h"
#include "scratch.h"
#include "threads/for_ranges.h"

namespace ltc::kernels {

namespace {

constexpr int64_t kKernelPlaces = 9;

/// Lines of some tiles of an image, turned over so that channels are innermost.
template <size_t lines> class ImageReader {
public:
  ImageReader(const TensorView &images, int64_t padding, float *places)
      : channels(images.size(1)), height(images.size(2)), width(images.size(3)),
        padding(padding), images(images.as<float>()), places(places) {}

  void read(int64_t image, int64_t channel, Span rows) {
    top = std::max<int64_t>(0, firstLine(rows.begin));
    int64_t bottom =
        std::min<int64_t>(height, firstLine(rows.end - 1) + int64_t(lines));
    int64_t plane = height * width;
    const float *from =
        images + (image * channels + channel) * plane + top * width;
    transpose(kLanes, (bottom - top) * width, from, plane, places, kLanes);
  }

  ImageLines<lines> linesOf(int64_t row) const {
    ImageLines<lines> of{{}, width};
    for (size_t i = 0; i < lines; ++i)
      if (int64_t y = firstLine(row) + int64_t(i); y >= 0 && y < height)
        of.lines[i] = places + (y - top) * width * kLanes;
    return of;
  }

private:
  int64_t firstLine(int64_t row) const { return kTile * row - padding; }

  const int64_t channels, height, width, padding;
  const float *images;
  float *places;
  int64_t top = 0;
};

/// `transform(lines, part, values)` for each row of tiles and kLanes channels,
/// and each part of their spots.
template <size_t lines, typename Transform>
void readTiles(const TensorView &images, const TileGrid &grid, Span rows,
               int64_t padding, int64_t parts, const TilePlace &place,
               const Transform &transform) {
  int64_t groups = images.size(1) / kLanes, blocks = grid.blocksOf(rows);
  forRanges(parts * blocks * groups, [&](int64_t begin, int64_t end) {
    static thread_local Scratch scratch;
    ImageReader<lines> reader(images, padding,
                              scratch.reserve(grid.blockRoom()));
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = i % groups * kLanes, block = i / groups % blocks;
      SpotPart part{parts, i / groups / blocks};
      int64_t row = rows.begin + block * grid.blockRows();
      Span some{row, std::min(rows.end, row + grid.blockRows())};
      TileValues values = place(part, block, channel);
      forImages(grid, some, [&](int64_t image, Span ofImage, int64_t) {
        reader.read(image, channel, ofImage);
        for (int64_t r = ofImage.begin; r < ofImage.end; ++r) {
          transform(reader.linesOf(r), part, values);
          values.data += grid.cols * kPanelCols;
        }
      });
    }
  });
}

} // namespace

TileGrid::TileGrid(const TensorView &output)
    : images(output.size(0)), rows(ceilDiv(output.size(2), kTile)),
      cols(ceilDiv(output.size(3), kTile)) {}

ShareRoom &winogradRoom() {
  static thread_local ShareRoom room;
  return room;
}

void readInput(const TensorView &input, const TileGrid &grid, Span rows,
               int64_t padding, int64_t parts, const TilePlace &place) {
  readTiles<kSpots>(
      input, grid, rows, padding, parts, place,
      [&](const ImageLines<kSpots> &lines, SpotPart part, TileValues values) {
        transformInput(lines, -padding, grid.cols, part, values);
      });
}

void readGrad(const TensorView &grad, const TileGrid &grid, Span rows,
              int64_t parts, const TilePlace &place) {
  readTiles<kTile>(
      grad, grid, rows, 0, parts, place,
      [&](const ImageLines<kTile> &lines, SpotPart part, TileValues values) {
        transformGrad(lines, grid.cols, part, values);
      });
}

void readWeight(const TensorView &weight, bool turned,
                const KernelPlace &place) {
  constexpr int64_t kChunk = 32; // kernels, of kLanes channels each
  const float *data = weight.as<float>();
  int64_t channelStride = weight.stride(turned ? 1 : 0);
  int64_t kernelStride = weight.stride(turned ? 0 : 1);
  int64_t channels = weight.size(turned ? 1 : 0);
  int64_t kernels = weight.size(turned ? 0 : 1);
  int64_t chunks = ceilDiv(kernels, kChunk);
  auto read = [&](int64_t begin, int64_t end) {
    float places[kChunk * kKernelPlaces * kLanes];
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = i / chunks * kLanes, first = i % chunks * kChunk;
      int64_t count = std::min(kChunk, kernels - first);
      // Kernels that stand one after the other are turned over at once.
      int64_t together = kernelStride == kKernelPlaces ? count : 1;
      for (int64_t k = 0; k < count; k += together)
        transpose(kLanes, together * kKernelPlaces,
                  data + channel * channelStride + (first + k) * kernelStride,
                  channelStride, places + k * kKernelPlaces * kLanes, kLanes);
      transformKernels(places, count, turned, place(channel, first));
    }
  };
  forRanges(channels / kLanes * chunks, read);
}

} // namespace ltc::kernels
