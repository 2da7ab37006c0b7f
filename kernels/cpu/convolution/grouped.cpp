//===- grouped.cpp - Convolutions of few channels at a time ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "grouped.h"

#include "plane_layout.h"
#include "runs.h"
#include "scratch.h"
#include "threads/for_ranges.h"

#include <cstring>

namespace ltc::kernels {

namespace {

/// Zeros of the calling thread's.
float *zeros(int64_t count) {
  static thread_local Scratch scratch;
  float *memory = scratch.reserve(count);
  std::memset(memory, 0, count * sizeof(float));
  return memory;
}

bool isFinite(const TensorView &tensor) {
  return areFinite(tensor.as<float>(), tensor.elements());
}

/// A convolution's groups and what each has.
struct Groups {
  Groups(const WindowedImages &images, const TensorView &weight, int64_t count)
      : layout(images), count(count), channels(images.channels / count),
        kernels(weight.size(0) / count), images(images) {}

  /// Weights of one kernel.
  int64_t depth() const { return channels * layout.taps(); }
  int64_t weights() const { return kernels * depth(); }
  /// work(group, its first plane of the images, its first of the output) for
  /// each group of each image from `begin` to `end`.
  template <typename Work>
  void forEach(int64_t begin, int64_t end, const Work &work) const {
    for (int64_t i = begin; i < end; ++i)
      work(i % count, i * channels, i * kernels);
  }
  int64_t all() const { return images.images * count; }

  /// All planes of a group, from the `first` on.
  void spread(int64_t first, float *phases) const {
    for (int64_t c = 0; c < channels; ++c)
      layout.spread(first + c, phases + c * layout.planeFloats());
  }
  /// For each tap of each channel, where the output's first reads.
  std::vector<const float *> runs(const float *phases) const {
    std::vector<const float *> result;
    for (int64_t c = 0; c < channels; ++c)
      layout.appendRuns(phases + c * layout.planeFloats(), result);
    return result;
  }
  void spreadOutputs(const float *output, int64_t first, float *to,
                     int64_t apart) const {
    for (int64_t k = 0; k < kernels; ++k)
      layout.spreadOutput(output + (first + k) * images.placesOfImage(),
                          to + k * apart);
  }

  PlaneLayout layout;
  const int64_t count, channels, kernels;
  const WindowedImages &images;
};

} // namespace

bool groupedConvolution(const TensorView &input, const TensorView &weight,
                        const TensorView &bias, int64_t groups,
                        const Window &window, const TensorView &output) {
  if (!isFinite(weight))
    return false;
  auto images = WindowedImages::of(input, window, output);
  Groups of(images, weight, groups);
  const PlaneLayout &layout = of.layout;
  const float *factors = weight.as<float>();
  const float *biases = bias.isDefined() ? bias.as<float>() : nullptr;
  float *to = output.as<float>();
  forRanges(of.all(), [&](int64_t begin, int64_t end) {
    int64_t ofInput = of.channels * layout.planeFloats();
    float *phases = zeros(ofInput + of.kernels * layout.count);
    auto runs = of.runs(phases);
    std::vector<RunSum> sums(of.kernels);
    for (int64_t k = 0; k < of.kernels; ++k)
      sums[k].to = phases + ofInput + k * layout.count;
    of.forEach(begin, end, [&](int64_t group, int64_t plane, int64_t made) {
      of.spread(plane, phases);
      for (int64_t k = 0; k < of.kernels; ++k) {
        int64_t kernel = group * of.kernels + k;
        sums[k].factors = factors + kernel * of.depth();
        sums[k].first = biases ? biases[kernel] : 0;
      }
      addRuns(runs, sums, layout.count);
      for (int64_t k = 0; k < of.kernels; ++k)
        layout.collectOutput(sums[k].to,
                             to + (made + k) * images.placesOfImage());
    });
  });
  return true;
}

namespace {

/// What a phase's gradient is made of: runs of the gradients of all kernels of
/// the group, and for each of its channels a factor for each run.
struct PhaseGrad {
  std::vector<const float *> runs;
  std::vector<int64_t> taps;
  std::vector<float> factors;

  /// `weight`: the group's.
  void read(const Groups &of, const float *weight) {
    float *to = factors.data();
    for (int64_t c = 0; c < of.channels; ++c)
      for (int64_t k = 0; k < of.kernels; ++k)
        for (int64_t tap : taps)
          *to++ = weight[k * of.depth() + c * of.layout.taps() + tap];
  }
};

/// For each phase; `grads` are those of the kernels, `apart` from each other.
std::vector<PhaseGrad> phaseGrads(const Groups &of, const float *grads,
                                  int64_t apart) {
  std::vector<PhaseGrad> result(of.layout.phases());
  for (size_t phase = 0; phase < result.size(); ++phase) {
    PhaseGrad &grad = result[phase];
    for (int64_t k = 0; k < of.kernels; ++k)
      of.layout.appendGradRuns(phase, grads + k * apart, grad.runs);
    grad.taps = of.layout.tapsOf(phase);
    grad.factors.resize(of.channels * grad.runs.size());
  }
  return result;
}

} // namespace

bool groupedInputGrad(const TensorView &grad, const TensorView &weight,
                      int64_t groups, const Window &window,
                      const TensorView &gradInput) {
  if (!isFinite(weight))
    return false;
  auto images = WindowedImages::of(gradInput, window, grad);
  Groups of(images, weight, groups);
  const PlaneLayout &layout = of.layout;
  const float *from = grad.as<float>(), *weights = weight.as<float>();
  float *to = gradInput.as<float>();
  forRanges(of.all(), [&](int64_t begin, int64_t end) {
    int64_t apart = layout.gradFloats();
    float *memory =
        zeros(of.kernels * apart + of.channels * layout.planeFloats());
    float *grads = memory + layout.reach, *phases = memory + of.kernels * apart;
    auto all = phaseGrads(of, grads, apart);
    std::vector<RunSum> sums(of.channels);
    of.forEach(begin, end, [&](int64_t group, int64_t plane, int64_t made) {
      of.spreadOutputs(from, made, grads, apart);
      for (size_t phase = 0; phase < all.size(); ++phase) {
        PhaseGrad &own = all[phase];
        own.read(of, weights + group * of.weights());
        for (int64_t c = 0; c < of.channels; ++c)
          sums[c] = {own.factors.data() + c * own.runs.size(), 0,
                     phases + c * layout.planeFloats() +
                         phase * layout.phaseFloats()};
        addRuns(own.runs, sums, layout.phaseCount);
      }
      for (int64_t c = 0; c < of.channels; ++c)
        layout.collect(phases + c * layout.planeFloats(),
                       to + (plane + c) * images.plane());
    });
  });
  return true;
}

bool groupedWeightGrad(const TensorView &grad, const TensorView &input,
                       int64_t groups, const Window &window,
                       const TensorView &gradWeight) {
  // Images are cut into as many blocks as give many threads work, with sums of
  // their own.
  constexpr int64_t kTasks = 64;
  auto images = WindowedImages::of(input, window, grad);
  Groups of(images, gradWeight, groups);
  const PlaneLayout &layout = of.layout;
  const float *from = grad.as<float>();
  int64_t blocks = std::min(images.images, ceilDiv(kTasks, groups));
  std::vector<double> sums(blocks * groups * of.weights());
  forRanges(blocks * groups, [&](int64_t begin, int64_t end) {
    int64_t ofInput = of.channels * layout.planeFloats();
    int64_t ofGrad = of.kernels * layout.count;
    float *phases = zeros(ofInput + ofGrad + of.weights());
    float *grads = phases + ofInput, *products = grads + ofGrad;
    auto runs = of.runs(phases);
    std::vector<const float *> by;
    for (int64_t k = 0; k < of.kernels; ++k)
      by.push_back(grads + k * layout.count);
    for (int64_t i = begin; i < end; ++i) {
      int64_t group = i % groups, block = i / groups;
      double *to = sums.data() + i * of.weights();
      for (int64_t image = images.images * block / blocks;
           image < images.images * (block + 1) / blocks; ++image) {
        int64_t number = image * groups + group;
        of.spread(number * of.channels, phases);
        of.spreadOutputs(from, number * of.kernels, grads, layout.count);
        multiplyRuns(runs, by, layout.count, products, of.depth());
        for (int64_t w = 0; w < of.weights(); ++w)
          to[w] += products[w];
      }
    }
  });
  float *to = gradWeight.as<float>();
  int64_t weights = gradWeight.elements();
  for (int64_t i = 0; i < weights; ++i) {
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block)
      sum += sums[block * weights + i];
    to[i] = float(sum);
  }
  return isFinite(gradWeight);
}

//===----------------------------------------------------------------------===//
// Whether that pays
//===----------------------------------------------------------------------===//

/// Of several channels and kernels to a group, runs of fewer floats leave
/// oneDNN's kernels the faster ones.
static constexpr int64_t kLeastPlaces = 700;

static bool isDepthwise(Sizes weight, int64_t groups) {
  return weight[0] == groups && weight[1] == 1;
}

/// Larger images would take more scratch than should stay; several channels are
/// to be in a second-level cache together.
static bool isKnown(Sizes input, Sizes weight, int64_t groups,
                    const Window &window) {
  constexpr int64_t kMostPlaces = int64_t(1) << 20;
  constexpr int64_t kMostTogether = int64_t(1) << 18;
  if (!hasVectors() || !elementsOf(input) ||
      std::ranges::max(window.stride) > PlaneLayout::kMostStep)
    return false;
  int64_t places = elementsOf(input.subspan(2));
  if (isDepthwise(weight, groups))
    return places <= kMostPlaces;
  int64_t planes = weight[1] + weight[0] / groups;
  return planes * places <= kMostTogether &&
         (places >= kLeastPlaces || isMapped(input));
}

bool groupedPays(Sizes input, Sizes weight, int64_t groups,
                 const Window &window) {
  // Of more taps the loads are what takes the time.
  constexpr int64_t kMostTaps = 25;
  return isKnown(input, weight, groups, window) &&
         (window.size[0] * window.size[1] <= kMostTaps || isMapped(input));
}

bool groupedWeightGradPays(Sizes input, Sizes weight, int64_t groups,
                           const Window &window) {
  int64_t passed =
      elementsOf(input.subspan(2)) / (window.stride[0] * window.stride[1]);
  return isKnown(input, weight, groups, window) &&
         (isDepthwise(weight, groups) || 2 * passed >= kLeastPlaces);
}

} // namespace ltc::kernels
