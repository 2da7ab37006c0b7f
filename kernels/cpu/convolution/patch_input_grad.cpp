//===- patch_input_grad.cpp - Gradients of convolutions' images -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patches overlap in an image, but not in two channels of it: a thread has some
// channels of an image, and goes through all of its places, a panel at a time.
//
//===----------------------------------------------------------------------===//
#include "patch_input_grad.h"

#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <memory>

namespace ltc::kernels {

namespace {

/// Rows of patches that a thread makes at a time, or as many as a channel has.
constexpr int64_t kRows = 128;
/// Of a panel, what one kernel call takes.
constexpr int64_t kDepth = 256;

class InputGrad {
public:
  /// `weight`: row (channel, line, column of the window), as a patch has them.
  InputGrad(const WindowedImages &images, const float *grad, int64_t kernels,
            const float *weight, const float *bias, float *result)
      : images(images), kernels(kernels), plane(images.placesOfImage()),
        taps(images.window.size[0] * images.window.size[1]),
        blockChannels(std::clamp<int64_t>(kRows / taps, 1, images.channels)),
        grad(grad), weight(weight), bias(bias), result(result) {}

  void run() {
    forRanges(images.images * blocks(), [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % blocks() * blockChannels;
        make(i / blocks(),
             {first, std::min(images.channels, first + blockChannels)});
      }
    });
  }

private:
  int64_t blocks() const { return ceilDiv(images.channels, blockChannels); }

  /// Some channels of an image.
  void make(int64_t image, Span channels) {
    float *planes =
        result + (image * images.channels + channels.begin) * images.plane();
    for (int64_t c = channels.begin; c < channels.end; ++c)
      std::fill_n(planes + (c - channels.begin) * images.plane(),
                  images.plane(), bias ? bias[c] : 0);
    static thread_local Scratch scratch;
    Span rows{channels.begin * taps, channels.end * taps};
    float *panel = scratch.reserve((kernels + rows.size()) * kPanelCols);
    float *patches = panel + kernels * kPanelCols;
    for (int64_t place = 0; place < plane; place += kPanelCols) {
      int64_t width = std::min(kPanelCols, plane - place);
      pack({grad + image * kernels * plane + place, kernels, width, plane, 1},
           panel, kPanelCols);
      for (int64_t k = 0; k < kernels; k += kDepth)
        multiplyBlock({.rows = rows.size(),
                       .cols = roundUp(width, kLineFloats),
                       .depth = std::min(kDepth, kernels - k),
                       .a = {weight + rows.begin * kernels + k, kernels, 1},
                       .b = panel + k * kPanelCols,
                       .accumulate = k != 0,
                       .c = {patches, kPanelCols},
                       .prefetch = {}});
      int64_t first = image * plane + place;
      Patches(images, {first, first + width}).add(rows, patches, result);
    }
  }

  const WindowedImages &images;
  const int64_t kernels, plane, taps; ///< a plane of the output
  const int64_t blockChannels;
  const float *grad, *weight, *bias;
  float *result;
};

} // namespace

bool patchInputGradPays(Sizes input, Sizes grad, const Window &window) {
  return hasVectors() && (isMapped(input) || isMapped(grad)) &&
         elementsOf(input) > 0 && elementsOf(grad) > 0 &&
         std::ranges::max(window.size) <= Patches::kMostLines;
}

void patchInputGrad(const TensorView &grad, const TensorView &weight,
                    const TensorView &bias, const Window &window,
                    const TensorView &gradInput) {
  auto images = WindowedImages::of(gradInput, window, grad);
  int64_t kernels = grad.size(1), depth = images.depth();
  std::unique_ptr<float[]> turned =
      turnedOver({weight.as<float>(), kernels, depth, depth, 1});
  InputGrad(images, grad.as<float>(), kernels, turned.get(),
            bias.isDefined() ? bias.as<float>() : nullptr,
            gradInput.as<float>())
      .run();
}

} // namespace ltc::kernels
