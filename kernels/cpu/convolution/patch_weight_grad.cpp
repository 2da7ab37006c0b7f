//===- patch_weight_grad.cpp - Gradients of convolutions' weights ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of few rows and columns, and as deep as there are places, which are
// taken by chunks of an image. Of the two sides, the right one is turned over a
// chunk at a time, into panels; the left one consists of patches, or of a
// window that sees one place is the tensor with more rows, read where it lies.
//
// The chunks are split into as many parts as make work for many threads, whose
// sums are added up in the end: so many whatever the number of threads.
//
//===----------------------------------------------------------------------===//
#include "patch_weight_grad.h"

#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <atomic>
#include <memory>

namespace ltc::kernels {

namespace {

/// Places of a chunk, and rows of its left side that are half a second-level
/// cache.
constexpr int64_t kPlaces = 256, kRows = 512;
constexpr int64_t kTasks = 32;
/// Of all parts' sums, unless those of one are more.
constexpr int64_t kMostSums = int64_t(1) << 22;
/// Rows of sums that are added up at a time.
constexpr int64_t kSumRows = 64;

class WeightGrad {
public:
  WeightGrad(const WindowedImages &images, const float *grad, int64_t kernels,
             float *result)
      : images(images), depth(images.depth()), plane(images.placesOfImage()),
        readsPatches(!images.window.isPointwise()),
        turned(readsPatches || kernels <= depth),
        left(turned ? images.data : grad), right(turned ? grad : images.data),
        rows(turned ? depth : kernels), cols(turned ? kernels : depth),
        parts(std::clamp<int64_t>(kMostSums / (rows * cols), 1,
                                  std::min(kTasks, chunks()))),
        groups(std::min(panels(), ceilDiv(kTasks, parts))), result(result) {}

  bool run() {
    std::unique_ptr<float[]> memory;
    sums = result;
    if (turned || parts > 1) {
      memory.reset(new float[parts * rows * cols]);
      sums = memory.get();
    }
    forRanges(parts * groups, [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        multiply(i / groups, i % groups);
    });
    forRanges(ceilDiv(rows, kSumRows), [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        addUp({i * kSumRows, std::min(rows, (i + 1) * kSumRows)});
    });
    return isFinite;
  }

private:
  /// Some places of an image.
  struct Chunk {
    int64_t image;
    Span places;
  };

  int64_t chunksOfImage() const { return ceilDiv(plane, kPlaces); }
  int64_t chunks() const { return images.images * chunksOfImage(); }
  Chunk chunkAt(int64_t number) const {
    int64_t begin = number % chunksOfImage() * kPlaces;
    return {number / chunksOfImage(),
            {begin, std::min(plane, begin + kPlaces)}};
  }
  int64_t panels() const { return ceilDiv(cols, kPanelCols); }

  /// The sums of a part of the chunks, for some panels.
  void multiply(int64_t part, int64_t group) {
    static thread_local Scratch patchScratch, panelScratch;
    float *patches =
        readsPatches ? patchScratch.reserve(kRows * kPlaces) : nullptr;
    float *panel = panelScratch.reserve(kPlaces * kPanelCols);
    int64_t begin = part * chunks() / parts,
            end = (part + 1) * chunks() / parts;
    Span some{group * panels() / groups, (group + 1) * panels() / groups};
    for (int64_t i = begin; i < end; ++i)
      for (int64_t row = 0; row < rows; row += kRows) {
        Chunk chunk = chunkAt(i);
        Span block{row, std::min(rows, row + kRows)};
        if (readsPatches)
          readPatches(chunk, block, patches);
        for (int64_t p = some.begin; p < some.end; ++p) {
          int64_t col = p * kPanelCols,
                  width = std::min(kPanelCols, cols - col);
          const float *from =
              right + (chunk.image * cols + col) * plane + chunk.places.begin;
          pack({from, chunk.places.size(), width, 1, plane}, panel, kPanelCols);
          addProduct(chunk, block, patches, panel, width, i != begin,
                     {sums + (part * rows + row) * cols + col, cols});
        }
      }
  }

  /// Panels of places, one after the other.
  void readPatches(const Chunk &chunk, Span block, float *to) const {
    int64_t image = chunk.image * plane;
    for (int64_t p = chunk.places.begin; p < chunk.places.end; p += kPanelCols)
      Patches(images,
              {image + p, image + std::min(chunk.places.end, p + kPanelCols)})
          .read(block, to + (p - chunk.places.begin) * block.size());
  }

  void addProduct(const Chunk &chunk, Span block, const float *patches,
                  const float *panel, int64_t width, bool accumulate,
                  Rows<float> to) const {
    int64_t size = chunk.places.size();
    auto add = [&](const BlockLeft &a, int64_t deep, int64_t from, bool more) {
      multiplyBlock({.rows = block.size(),
                     .cols = width,
                     .depth = deep,
                     .a = a,
                     .b = panel + from * kPanelCols,
                     .accumulate = more,
                     .c = to,
                     .prefetch = {}});
    };
    if (!readsPatches)
      return add({left + (chunk.image * rows + block.begin) * plane +
                      chunk.places.begin,
                  plane, 1},
                 size, 0, accumulate);
    int64_t whole = size / kPanelCols, rest = size % kPanelCols;
    if (whole)
      add({patches, kPanelCols, 1, whole, block.size() * kPanelCols},
          kPanelCols, 0, accumulate);
    int64_t read = whole * kPanelCols;
    if (rest)
      add({patches + read * block.size(), kPanelCols, 1}, rest, read,
          accumulate || whole);
  }

  /// All parts' sums of some rows, and puts them where they belong.
  void addUp(Span some) {
    int64_t count = some.size() * cols;
    float *to = sums + some.begin * cols;
    for (int64_t part = 1; part < parts; ++part)
      add({to + part * rows * cols, 1, count, count, 1}, {to, count});
    if (std::ranges::max(images.window.padding) > 0 && !areFinite(to, count))
      isFinite = false;
    if (turned)
      pack(MatrixView{to, some.size(), cols, cols, 1}.transposed(),
           result + some.begin, rows);
    else if (sums != result)
      pack({to, some.size(), cols, cols, 1}, result + some.begin * cols, cols);
  }

  const WindowedImages &images;
  const int64_t depth, plane; ///< of patches, and of the output
  const bool readsPatches;
  const bool turned; ///< the sums are the result's transpose
  const float *left, *right;
  const int64_t rows, cols;
  const int64_t parts;  ///< of the chunks
  const int64_t groups; ///< of panels
  float *result, *sums = nullptr;
  std::atomic<bool> isFinite = true;
};

} // namespace

bool patchWeightGradPays(Sizes input, Sizes weight, Sizes grad,
                         const Window &window) {
  // Of points, where the sums are no more than the chunks' sides.
  constexpr int64_t kFewest = 16, kMostWeights = int64_t(1) << 16;
  int64_t weights = elementsOf(weight);
  bool isEmpty =
      weights == 0 || elementsOf(input) == 0 || elementsOf(grad) == 0;
  if (!hasVectors() || isEmpty ||
      std::ranges::max(window.size) > Patches::kMostLines)
    return false;
  return isMapped(input) || isMapped(grad) ||
         (window.isPointwise() && weights <= kMostWeights &&
          std::min(weight[0], weight[1]) >= kFewest);
}

bool patchWeightGrad(const TensorView &grad, const TensorView &input,
                     const Window &window, const TensorView &gradWeight) {
  auto images = WindowedImages::of(input, window, grad);
  return WeightGrad(images, grad.as<float>(), grad.size(1),
                    gradWeight.as<float>())
      .run();
}

} // namespace ltc::kernels
