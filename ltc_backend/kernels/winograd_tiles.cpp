//===- winograd_tiles.cpp - Images and weights, transformed ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd_tiles.h"

#include "for_ranges.h"
#include "scratch.h"

#include <fbgemm/Utils.h>

namespace ltc::backend {
using at::Tensor;

namespace {

constexpr int64_t kKernelPlaces = 9;

/// Lines of some tiles of an image, turned over so that channels are innermost.
template <size_t lines> class ImageReader {
public:
  ImageReader(const Tensor &images, int64_t padding, float *places)
      : channels(images.size(1)), height(images.size(2)), width(images.size(3)),
        padding(padding), images(images.const_data_ptr<float>()),
        places(places) {}

  void read(int64_t image, int64_t channel, Span rows) {
    top = std::max<int64_t>(0, firstLine(rows.begin));
    int64_t bottom =
        std::min<int64_t>(height, firstLine(rows.end - 1) + int64_t(lines));
    int64_t plane = height * width;
    const float *from =
        images + (image * channels + channel) * plane + top * width;
    fbgemm::transpose_simd<float>(kLanes, (bottom - top) * width, from, plane,
                                  places, kLanes);
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

/// `transform(lines, to)` for each row of tiles and kLanes channels.
template <size_t lines, typename Transform>
void readTiles(const Tensor &images, const TileGrid &grid, Span rows,
               int64_t padding, const Transformed &to,
               const Transform &transform) {
  int64_t groups = to.channels / kLanes, blockRows = grid.blockRows();
  int64_t blocks = at::ceil_div(rows.size(), blockRows);
  forRanges(blocks * groups, [&](int64_t begin, int64_t end) {
    static thread_local Scratch scratch;
    ImageReader<lines> reader(images, padding,
                              scratch.reserve(grid.blockRoom()));
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = i % groups * kLanes, row = i / groups * blockRows;
      Span some{rows.begin + row,
                std::min(rows.end, rows.begin + row + blockRows)};
      TileValues values = to.lanes(channel, row * grid.cols);
      forImages(grid, some, [&](int64_t image, Span ofImage, int64_t) {
        reader.read(image, channel, ofImage);
        for (int64_t r = ofImage.begin; r < ofImage.end; ++r) {
          transform(reader.linesOf(r), values);
          values.data += grid.cols * kPanelCols;
        }
      });
    }
  });
}

} // namespace

TileGrid::TileGrid(const Tensor &output)
    : images(output.size(0)), rows(at::ceil_div(output.size(2), kTile)),
      cols(at::ceil_div(output.size(3), kTile)) {}

float *winogradRoom(int64_t floats) {
  static thread_local Scratch scratch;
  return scratch.reserve(floats);
}

void readInput(const Tensor &input, const TileGrid &grid, Span rows,
               int64_t padding, const Transformed &to) {
  readTiles<kSpots>(input, grid, rows, padding, to,
                    [&](const ImageLines<kSpots> &lines, TileValues values) {
                      transformInput(lines, -padding, grid.cols, values);
                    });
}

void readGrad(const Tensor &grad, const TileGrid &grid, Span rows,
              const Transformed &to) {
  readTiles<kTile>(grad, grid, rows, 0, to,
                   [&](const ImageLines<kTile> &lines, TileValues values) {
                     transformGrad(lines, grid.cols, values);
                   });
}

void readWeight(const Tensor &weight, bool turned, const Transformed &to) {
  constexpr int64_t kChunk = 32; // kernels, of kLanes channels each
  const float *data = weight.const_data_ptr<float>();
  int64_t channelStride = weight.stride(turned ? 1 : 0);
  int64_t kernelStride = weight.stride(turned ? 0 : 1);
  int64_t chunks = at::ceil_div(to.count, kChunk);
  auto read = [&](int64_t begin, int64_t end) {
    float places[kChunk * kKernelPlaces * kLanes];
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = i / chunks * kLanes, first = i % chunks * kChunk;
      int64_t count = std::min(kChunk, to.count - first);
      // Kernels that stand one after the other are turned over at once.
      int64_t together = kernelStride == kKernelPlaces ? count : 1;
      for (int64_t k = 0; k < count; k += together)
        fbgemm::transpose_simd<float>(
            kLanes, together * kKernelPlaces,
            data + channel * channelStride + (first + k) * kernelStride,
            channelStride, places + k * kKernelPlaces * kLanes, kLanes);
      transformKernels(places, count, turned, to.lanes(channel, first));
    }
  };
  forRanges(to.channels / kLanes * chunks, read);
}

} // namespace ltc::backend
