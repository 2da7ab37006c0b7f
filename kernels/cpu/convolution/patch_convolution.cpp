//===- patch_convolution.cpp - Convolutions as products -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A panel is the patches of kPanelCols places, of which kPassDepth values are
// read at a time, and multiplied by a block of kBlockRows kernels after the
// other. One thread does that, in whose caches all of it stays, unless there
// are few panels: then threads share the reading, and after that the blocks.
//
// A panel has places of one image, and its sums stand in the output, unless
// images are smaller than a panel: then they stand beside the patches.
//
//===----------------------------------------------------------------------===//
#include "patch_convolution.h"

#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <atomic>
#include <cstring>
#include <memory>

namespace ltc::kernels {

namespace {

// A block (64 x 1024 floats) and a panel share a 1 MiB second-level cache.
constexpr int64_t kBlockRows = 64, kPassDepth = 1024;
/// Of a panel, what one kernel call takes.
constexpr int64_t kDepth = 256;
/// Of which a panel has sums beside its patches.
constexpr int64_t kMostKernels = 4096;
/// Of panels whose reading is shared.
constexpr int64_t kMostShared = int64_t(1) << 21;

/// Adds `by`. Whether all is finite then.
bool addTo(float *row, int64_t count, float by) {
  bool result = false;
  withVectors([&](auto lanes) LTC_INLINED {
    FiniteCheck<lanes> check;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      auto value = Floats<lanes>::load(row + i) + by;
      value.store(row + i);
      check.note(value);
    }
    for (; i < count; ++i) {
      row[i] += by;
      check.note(row[i]);
    }
    result = check.isFinite();
  });
  return result;
}

class Convolution {
public:
  /// `weight`: kernel after kernel.
  Convolution(const WindowedImages &images, const float *weight,
              int64_t kernels, const float *bias, float *output)
      : images(images), weight(weight), bias(bias), output(output),
        kernels(kernels), depth(images.depth()),
        deep(ceilDiv(depth, ceilDiv(depth, kPassDepth))),
        plane(images.placesOfImage()), together(plane < kPanelCols),
        isPointwise(images.window.isPointwise()),
        seesZeros(std::ranges::max(images.window.padding) > 0) {}

  bool run() {
    constexpr int64_t kPanelsPerThread = 8;
    if (panelCount() >= kPanelsPerThread * loopThreads() ||
        panelCount() * floatsOfPanel() > kMostShared)
      runByPanels();
    else
      runByPasses();
    return isFinite;
  }

private:
  int64_t panelsOfImage() const { return ceilDiv(plane, kPanelCols); }
  int64_t panelCount() const {
    return together ? ceilDiv(images.allPlaces(), kPanelCols)
                    : images.images * panelsOfImage();
  }
  /// Counted through all images.
  Span placesOf(int64_t panel) const {
    if (together)
      return {panel * kPanelCols,
              std::min(images.allPlaces(), (panel + 1) * kPanelCols)};
    int64_t image = panel / panelsOfImage(), first = image * plane;
    int64_t begin = first + panel % panelsOfImage() * kPanelCols;
    return {begin, std::min(first + plane, begin + kPanelCols)};
  }
  /// The next of them from `begin` on.
  Span pieceAt(int64_t begin) const {
    return {begin, std::min(depth, begin + deep)};
  }
  Span blockAt(int64_t number) const {
    return {number * kBlockRows, std::min(kernels, (number + 1) * kBlockRows)};
  }
  int64_t blocks() const { return ceilDiv(kernels, kBlockRows); }
  int64_t floatsOfPanel() const { return kPanelCols * deep + floatsOfSums(); }
  int64_t floatsOfSums() const { return together ? kernels * kPanelCols : 0; }

  /// Each panel on one thread, in whose caches it stays.
  void runByPanels() {
    forRanges(panelCount(), [this](int64_t begin, int64_t end) {
      static thread_local Scratch scratch;
      float *patches = scratch.reserve(floatsOfPanel());
      float *sums = patches + kPanelCols * deep;
      for (int64_t panel = begin; panel < end; ++panel)
        for (int64_t k = 0; k < depth; k += deep) {
          read(placesOf(panel), pieceAt(k), patches);
          for (int64_t block = 0; block < blocks(); ++block)
            multiply(blockAt(block), placesOf(panel), pieceAt(k), patches,
                     sums);
        }
    });
  }

  /// Few panels, whose reading is shared, and then the kernels.
  void runByPasses() {
    static thread_local Scratch scratch;
    int64_t count = panelCount();
    float *patches = scratch.reserve(count * floatsOfPanel());
    float *sums = patches + count * kPanelCols * deep;
    for (int64_t k = 0; k < depth; k += deep)
      pass(pieceAt(k), patches, sums);
  }

  void pass(Span piece, float *patches, float *sums) {
    constexpr int64_t kChunk = 64; // values of a patch
    int64_t chunks = ceilDiv(piece.size(), kChunk), count = panelCount();
    forRanges(count * chunks, [=, this](int64_t begin, int64_t end) {
      for (int64_t i = begin, next; i < end; i = next) {
        int64_t panel = i / chunks, first = panel * chunks;
        next = std::min(end, first + chunks);
        int64_t from = (i - first) * kChunk,
                to = std::min(piece.size(), (next - first) * kChunk);
        read(placesOf(panel), {piece.begin + from, piece.begin + to},
             patches + (panel * piece.size() + from) * kPanelCols);
      }
    });
    forRanges(blocks() * count, [=, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t panel = i % count;
        multiply(blockAt(i / count), placesOf(panel), piece,
                 patches + panel * piece.size() * kPanelCols,
                 sums + panel * floatsOfSums());
      }
    });
  }

  void read(Span places, Span piece, float *to) const {
    if (!isPointwise || together)
      return Patches(images, places).read(piece, to);
    int64_t image = places.begin / plane, place = places.begin % plane;
    pack({images.data + (image * depth + piece.begin) * plane + place,
          piece.size(), places.size(), plane, 1},
         to, kPanelCols);
  }

  /// Kernels `rows` times the patches of a panel, of which `sums` is for all
  /// kernels.
  void multiply(Span rows, Span places, Span piece, const float *patches,
                float *sums) {
    Rows<float> to =
        together ? Rows<float>{sums + rows.begin * kPanelCols, kPanelCols}
                 : Rows<float>{placeOf(rows.begin, places.begin), plane};
    // Beside the patches there is room for whole vectors.
    int64_t cols =
        together ? roundUp(places.size(), kLineFloats) : places.size();
    for (int64_t k = 0; k < piece.size(); k += kDepth)
      multiplyBlock(
          {.rows = rows.size(),
           .cols = cols,
           .depth = std::min(kDepth, piece.size() - k),
           .a = {weight + rows.begin * depth + piece.begin + k, depth, 1},
           .b = patches + k * kPanelCols,
           .accumulate = piece.begin + k != 0,
           .c = to,
           .prefetch = {}});
    if (piece.end == depth)
      finish(rows, places, to);
  }

  /// Adds the bias, and moves sums to where they belong.
  void finish(Span rows, Span places, Rows<float> sum) {
    bool adds = bias || seesZeros;
    if (!adds && !together)
      return;
    bool finite = true;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float *from = sum.row(row - rows.begin);
      if (adds)
        finite &= addTo(from, places.size(), bias ? bias[row] : 0);
      for (int64_t p = places.begin, next; together && p < places.end;
           p = next) {
        next = std::min(places.end, (p / plane + 1) * plane);
        std::memcpy(placeOf(row, p), from + p - places.begin,
                    (next - p) * sizeof(float));
      }
    }
    if (seesZeros && !finite)
      isFinite = false;
  }

  float *placeOf(int64_t kernel, int64_t place) const {
    return output + (place / plane * kernels + kernel) * plane + place % plane;
  }

  const WindowedImages &images;
  const float *weight, *bias;
  float *output;
  const int64_t kernels, depth;
  const int64_t deep;  ///< values of a patch in a pass
  const int64_t plane; ///< of the output
  const bool together; ///< images are smaller than a panel
  const bool isPointwise;
  const bool seesZeros; ///< around the images
  std::atomic<bool> isFinite = true;
};

} // namespace

bool patchesCan(Sizes weight, Sizes output, const Window &window) {
  return hasVectors() && elementsOf(output) > 0 && weight[0] <= kMostKernels &&
         std::ranges::max(window.size) <= Patches::kMostLines;
}

bool patchesPay(Sizes input, Sizes weight, Sizes output, const Window &window) {
  // Of fewer kernels the patches are what takes the time; of more places
  // oneDNN's order of the weight has paid for itself.
  constexpr int64_t kFewest = 32, kFewestOfPoints = 8, kMostPlaces = 1024;
  int64_t kernels = weight[0], count = elementsOf(output);
  if (!patchesCan(weight, output, window))
    return false;
  if (isMapped(input) || isMapped(output))
    return true;
  if (window.size == std::array<int64_t, 2>{1, 1})
    return kernels >= kFewestOfPoints;
  return kernels >= kFewest && count <= kMostPlaces * kernels;
}

bool patchConvolution(const TensorView &input, const TensorView &weight,
                      const TensorView &bias, const Window &window,
                      const TensorView &output) {
  auto images = WindowedImages::of(input, window, output);
  return Convolution(images, weight.as<float>(), weight.size(0),
                     bias.isDefined() ? bias.as<float>() : nullptr,
                     output.as<float>())
      .run();
}

bool pointwisePays(Sizes grad, int64_t channels) {
  constexpr int64_t kFewest = 8;
  return hasVectors() && elementsOf(grad) > 0 && channels >= kFewest &&
         channels <= kMostKernels;
}

void pointwiseInputGrad(const TensorView &grad, const TensorView &weight,
                        const TensorView &gradInput) {
  int64_t kernels = weight.size(0), channels = weight.size(1);
  auto images = WindowedImages::of(grad, {}, gradInput);
  std::unique_ptr<float[]> turned =
      turnedOver({weight.as<float>(), kernels, channels, channels, 1});
  Convolution(images, turned.get(), channels, nullptr, gradInput.as<float>())
      .run();
}

} // namespace ltc::kernels
