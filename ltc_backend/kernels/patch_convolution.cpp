//===- patch_convolution.cpp - Convolutions as products -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the loops, from the outside, as in gemm.cpp:
//
//   a pass: some panels of kPanelCols places, and kPassDepth of the patches'
//   values, which are read
//   a block: kBlockRows kernels, of the weight, times all panels of the pass
//
// A panel has places of one image, and its sums stand in the output, unless
// images are smaller than a panel: then they stand beside the patches.
//
//===----------------------------------------------------------------------===//
#include "patch_convolution.h"

#include "for_ranges.h"
#include "scratch.h"
#include "wide_vectors.h"

#include <atomic>
#include <cstring>

namespace ltc::backend {
using at::Tensor;

namespace {

// A block (64 x 1024 floats) and a panel share a 1 MiB second-level cache.
constexpr int64_t kBlockRows = 64, kPassDepth = 1024;
/// Of a panel, what one kernel call takes.
constexpr int64_t kDepth = 256;
/// Of all patches of a pass and the sums beside them.
constexpr int64_t kPassFloats = int64_t(1) << 21;

using Vector = WideVector;

/// Adds `by`; what is not finite leaves NaN in `check`.
LTC_AVX512 void addTo(float *row, int64_t count, float by, Vector &check) {
  int64_t i = 0;
  for (; i + kLineFloats <= count; i += kLineFloats) {
    auto &place = *reinterpret_cast<WideInMemory *>(row + i);
    Vector value = place + by;
    place = value;
    noteFinite(value, check);
  }
  for (; i < count; ++i) {
    row[i] += by;
    check[0] += row[i] - row[i];
  }
}

class Convolution {
public:
  Convolution(const WindowedImages &images, const float *weight,
              int64_t kernels, const float *bias, float *output)
      : images(images), weight(weight), bias(bias), output(output),
        kernels(kernels), depth(images.depth()), plane(images.placesOfImage()),
        together(plane < kPanelCols) {}

  bool run() {
    int64_t deep = at::ceil_div(depth, at::ceil_div(depth, kPassDepth));
    int64_t floats = kPanelCols * (deep + (together ? kernels : 0));
    int64_t count = panelCount();
    int64_t most = std::max<int64_t>(1, kPassFloats / floats);
    int64_t step = at::ceil_div(count, at::ceil_div(count, most));
    static thread_local Scratch scratch;
    patches = scratch.reserve(step * floats);
    sums = patches + step * kPanelCols * deep;
    for (int64_t i = 0; i < count; i += step)
      for (int64_t k = 0; k < depth; k += deep)
        pass({i, std::min(count, i + step)}, {k, std::min(depth, k + deep)});
    return isFinite;
  }

private:
  int64_t panelsOfImage() const { return at::ceil_div(plane, kPanelCols); }
  int64_t panelCount() const {
    return together ? at::ceil_div(images.allPlaces(), kPanelCols)
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

  void pass(Span panels, Span deep) {
    constexpr int64_t kChunk = 64; // values of a patch
    int64_t chunks = at::ceil_div(deep.size(), kChunk);
    forRanges(panels.size() * chunks, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, next; i < end; i = next) {
        int64_t panel = i / chunks, first = panel * chunks;
        next = std::min(end, first + chunks);
        int64_t from = (i - first) * kChunk,
                to = std::min(deep.size(), (next - first) * kChunk);
        Patches(images, placesOf(panels.begin + panel))
            .read({deep.begin + from, deep.begin + to},
                  patches + (panel * deep.size() + from) * kPanelCols);
      }
    });
    int64_t blocks = at::ceil_div(kernels, kBlockRows);
    forRanges(blocks * panels.size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = i / panels.size() * kBlockRows, panel = i % panels.size();
        multiply({row, std::min(kernels, row + kBlockRows)}, panel,
                 placesOf(panels.begin + panel), deep);
      }
    });
  }

  void multiply(Span rows, int64_t panel, Span places, Span deep) {
    Rows<float> to =
        together
            ? Rows<float>{sums + (panel * kernels + rows.begin) * kPanelCols,
                          kPanelCols}
            : Rows<float>{placeOf(rows.begin, places.begin), plane};
    // Beside the patches there is room for whole vectors.
    int64_t cols =
        together ? at::round_up(places.size(), kLineFloats) : places.size();
    const float *from = patches + panel * deep.size() * kPanelCols;
    for (int64_t k = 0; k < deep.size(); k += kDepth)
      multiplyBlock(
          {.rows = rows.size(),
           .cols = cols,
           .depth = std::min(kDepth, deep.size() - k),
           .a = {weight + rows.begin * depth + deep.begin + k, depth, 1},
           .b = from + k * kPanelCols,
           .accumulate = deep.begin + k != 0,
           .c = to,
           .prefetch = {}});
    if (deep.end == depth)
      finish(rows, places, to);
  }

  /// Adds the bias, and moves sums to where they belong.
  void finish(Span rows, Span places, Rows<float> sum) {
    Vector check = {};
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float *from = sum.row(row - rows.begin);
      addTo(from, places.size(), bias ? bias[row] : 0, check);
      for (int64_t p = places.begin, next; together && p < places.end;
           p = next) {
        next = std::min(places.end, (p / plane + 1) * plane);
        std::memcpy(placeOf(row, p), from + p - places.begin,
                    (next - p) * sizeof(float));
      }
    }
    if (!areFinite(check))
      isFinite = false;
  }

  float *placeOf(int64_t kernel, int64_t place) const {
    return output + (place / plane * kernels + kernel) * plane + place % plane;
  }

  const WindowedImages &images;
  const float *weight, *bias;
  float *output;
  const int64_t kernels, depth;
  const int64_t plane; ///< of the output
  const bool together; ///< images are smaller than a panel
  float *patches = nullptr, *sums = nullptr;
  std::atomic<bool> isFinite = true;
};

/// Height and width, the first of which may be absent.
std::array<int64_t, 2> planeOf(at::IntArrayRef sizes) {
  return {sizes.size() == 4 ? sizes[2] : 1, sizes.back()};
}

} // namespace

bool patchesPay(at::IntArrayRef input, at::IntArrayRef weight,
                at::IntArrayRef output, const Window &window) {
  // Of fewer kernels the patches are what takes the time; of more places
  // oneDNN's order of the weight has paid for itself.
  constexpr int64_t kFewest = 32, kMost = 4096, kMostPlaces = 1024;
  int64_t count = c10::multiply_integers(input);
  return hasWideVectors() && count > 0 && weight[0] >= kFewest &&
         weight[0] <= kMost &&
         c10::multiply_integers(output) <= kMostPlaces * weight[0] &&
         std::ranges::max(window.size) <= Patches::kMostLines;
}

bool patchConvolution(const Tensor &input, const Tensor &weight,
                      const Tensor &bias, const Window &window,
                      const Tensor &output) {
  auto [height, width] = planeOf(input.sizes());
  WindowedImages images{input.const_data_ptr<float>(),
                        input.size(0),
                        input.size(1),
                        height,
                        width,
                        window,
                        planeOf(output.sizes())};
  return Convolution(images, weight.const_data_ptr<float>(), weight.size(0),
                     bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                     output.mutable_data_ptr<float>())
      .run();
}

} // namespace ltc::backend
