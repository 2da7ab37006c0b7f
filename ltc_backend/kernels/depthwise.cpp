//===- depthwise.cpp - Convolutions of each channel alone -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plane is a channel of an image. It is laid out with zeros around it, and
// where the window moves by two, its even and odd lines and columns apart, as
// four phases. Then an output whose lines stand as far apart as a phase's, with
// some places between them that mean nothing, is a sum of runs: one for each
// tap of the window, from where that begins in its phase. No line has an end.
//
// The gradient of a phase is a sum of such runs of the output's gradient, with
// zeros before it and between its lines, and that of a tap the product of the
// two, added up.
//
//===----------------------------------------------------------------------===//
#include "depthwise.h"

#include "for_ranges.h"
#include "scratch.h"
#include "wide_vectors.h"

#include <cstring>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::backend {
using at::Tensor;

namespace {

using Vector = WideVector;
using InMemory = WideInMemory;

/// Floats that are computed at a time: a run is as many times as long.
constexpr int64_t kStep = 4 * kLineFloats;

LTC_AVX512 Vector load(const float *from) {
  return *reinterpret_cast<const InMemory *>(from);
}
LTC_AVX512 void store(const Vector &value, float *to) {
  *reinterpret_cast<InMemory *>(to) = value;
}

LTC_AVX512 float sumOf(const Vector &vector) {
#if defined(__x86_64__)
  return _mm512_reduce_add_ps(vector);
#else
  float sum = 0;
  for (int64_t i = 0; i < kLineFloats; ++i)
    sum += vector[i];
  return sum;
#endif
}

/// A line, which may be shorter than a call of memcpy() is worth.
LTC_AVX512 void copyLine(const float *from, int64_t count, float *to) {
#if defined(__x86_64__)
  int64_t i = 0;
  for (; i + kLineFloats <= count; i += kLineFloats)
    store(load(from + i), to + i);
  auto lanes = __mmask16((1u << (count - i)) - 1);
  _mm512_mask_storeu_ps(to + i, lanes, _mm512_maskz_loadu_ps(lanes, from + i));
#else
  std::memcpy(to, from, count * sizeof(float));
#endif
}

/// to = first + sum of factors[t] runs[t], `count` floats.
LTC_AVX512 void addRuns(const std::vector<const float *> &runs,
                        const float *factors, float first, int64_t count,
                        float *to) {
  for (int64_t i = 0; i < count; i += kStep) {
    Vector a = Vector{} + first, b = a, c = a, d = a;
    for (size_t t = 0; t < runs.size(); ++t) {
      const float *run = runs[t] + i;
      float factor = factors[t];
      a += factor * load(run);
      b += factor * load(run + kLineFloats);
      c += factor * load(run + 2 * kLineFloats);
      d += factor * load(run + 3 * kLineFloats);
    }
    store(a, to + i);
    store(b, to + i + kLineFloats);
    store(c, to + i + 2 * kLineFloats);
    store(d, to + i + 3 * kLineFloats);
  }
}

/// The products of `by` with so many runs, each added up.
template <int taps>
LTC_AVX512 void multiplyRuns(const float *const *runs, const float *by,
                             int64_t count, float *to) {
  Vector sums[taps] = {};
  for (int64_t i = 0; i < count; i += kLineFloats) {
    Vector factor = load(by + i);
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t)
      sums[t] += factor * load(runs[t] + i);
  }
  for (int t = 0; t < taps; ++t)
    to[t] = sumOf(sums[t]);
}

void multiplyRuns(const std::vector<const float *> &runs, const float *by,
                  int64_t count, float *to) {
  constexpr void (*kinds[])(const float *const *, const float *, int64_t,
                            float *) = {
      multiplyRuns<1>, multiplyRuns<2>, multiplyRuns<3>,
      multiplyRuns<4>, multiplyRuns<5>, multiplyRuns<6>,
      multiplyRuns<7>, multiplyRuns<8>, multiplyRuns<9>};
  constexpr size_t kMost = std::size(kinds);
  for (size_t t = 0; t < runs.size(); t += kMost) {
    size_t some = std::min(kMost, runs.size() - t);
    kinds[some - 1](runs.data() + t, by, count, to + t);
  }
}

/// How the planes of a convolution are laid out. A thread's memory for one is
/// zeros at first; what is not the plane's stays so.
class Layout {
public:
  explicit Layout(const WindowedImages &images)
      : images(images), stepY(images.window.stride[0]),
        stepX(images.window.stride[1]), top(images.window.padding[0]),
        left(images.window.padding[1]),
        pitch(at::ceil_div(images.width + 2 * left, stepX)),
        lines(at::ceil_div(images.height + 2 * top, stepY)),
        count(at::round_up(images.places[0] * pitch, kStep)),
        phaseCount(at::round_up(lines * pitch, kStep)),
        reach(offset(images.window.size[0] - 1, images.window.size[1] - 1)) {
    for (int64_t row = top; row < top + images.height; ++row)
      lineOffsets.push_back(row % stepY * stepX * phaseFloats() +
                            row / stepY * pitch);
  }

  int64_t planes() const { return images.images * images.channels; }
  int64_t taps() const { return images.window.size[0] * images.window.size[1]; }
  int64_t phases() const { return stepY * stepX; }
  /// Of a phase, and what a run reads past it.
  int64_t phaseFloats() const { return std::max(phaseCount, count + reach); }
  /// Of an output's gradient, and what a run reads before it and past it.
  int64_t gradFloats() const { return reach + std::max(phaseCount, count); }

  /// A plane of the images, to its phases.
  LTC_AVX512 void spread(int64_t number, float *phases) const {
    const float *plane = images.data + number * images.plane();
    for (int64_t y = 0; y < images.height; ++y)
      spreadLine(plane + y * images.width, phases + lineOffsets[y]);
  }
  /// And back.
  LTC_AVX512 void collect(const float *phases, float *plane) const {
    for (int64_t y = 0; y < images.height; ++y)
      collectLine(phases + lineOffsets[y], plane + y * images.width);
  }
  /// A plane of the output's, to lines as far apart as a phase's.
  LTC_AVX512 void spreadOutput(const float *plane, float *to) const {
    auto [height, width] = images.places;
    for (int64_t y = 0; y < height; ++y)
      copyLine(plane + y * width, width, to + y * pitch);
  }
  LTC_AVX512 void collectOutput(const float *from, float *plane) const {
    auto [height, width] = images.places;
    for (int64_t y = 0; y < height; ++y)
      copyLine(from + y * pitch, width, plane + y * width);
  }

  /// For each tap, the place in the phases that the output's first reads.
  std::vector<const float *> runs(const float *phases) const {
    std::vector<const float *> result;
    forTaps([&](int64_t phase, int64_t offset) {
      result.push_back(phases + phase * phaseFloats() + offset);
    });
    return result;
  }
  /// The gradients that make up a phase's, of `grad` without what is before it,
  /// and which taps they are for.
  struct GradRuns {
    std::vector<const float *> runs;
    std::vector<int64_t> taps;
  };
  GradRuns gradRuns(int64_t phase, const float *grad) const {
    GradRuns result;
    int64_t tap = 0;
    forTaps([&](int64_t of, int64_t offset) {
      if (of == phase) {
        result.runs.push_back(grad - offset);
        result.taps.push_back(tap);
      }
      ++tap;
    });
    return result;
  }

private:
  /// From a phase's first place to that which tap (r, s) begins at.
  int64_t offset(int64_t r, int64_t s) const {
    auto [y, x] = images.window.dilation;
    return r * y / stepY * pitch + s * x / stepX;
  }
  template <typename Visit> void forTaps(const Visit &visit) const {
    auto [height, width] = images.window.size;
    auto [y, x] = images.window.dilation;
    for (int64_t r = 0; r < height; ++r)
      for (int64_t s = 0; s < width; ++s)
        visit(r * y % stepY * stepX + s * x % stepX, offset(r, s));
  }
  /// A line of a plane, whose columns may be in two phases.
  LTC_AVX512 void spreadLine(const float *__restrict from,
                             float *__restrict line) const {
    if (stepX == 1)
      return copyLine(from, images.width, line + left);
    float *__restrict even = columns(line, 0), *__restrict odd =
                                                   columns(line, 1);
    int64_t pairs = images.width / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      even[i] = from[2 * i];
      odd[i] = from[2 * i + 1];
    }
    if (images.width % 2)
      even[pairs] = from[2 * pairs];
  }
  LTC_AVX512 void collectLine(const float *__restrict line,
                              float *__restrict to) const {
    if (stepX == 1)
      return copyLine(line + left, images.width, to);
    const float *__restrict even = columns(line, 0), *__restrict odd =
                                                         columns(line, 1);
    int64_t pairs = images.width / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      to[2 * i] = even[i];
      to[2 * i + 1] = odd[i];
    }
    if (images.width % 2)
      to[2 * pairs] = even[pairs];
  }
  /// Every other column from `first` on.
  template <typename Float> Float *columns(Float *line, int64_t first) const {
    return line + (first + left) % 2 * phaseFloats() + (first + left) / 2;
  }

  const WindowedImages &images;
  const int64_t stepY, stepX, top, left;
  const int64_t pitch, lines;       ///< of a phase
  std::vector<int64_t> lineOffsets; ///< of a plane's, in its first phase

public:
  const int64_t count;      ///< places of an output, and between its lines
  const int64_t phaseCount; ///< places of a phase
  const int64_t reach;      ///< from the window's first tap to its last
};

/// Zeros of the calling thread's.
float *zeros(int64_t count) {
  static thread_local Scratch scratch;
  float *memory = scratch.reserve(count);
  std::memset(memory, 0, count * sizeof(float));
  return memory;
}

bool isFinite(const Tensor &tensor) {
  return areFinite(tensor.const_data_ptr<float>(), tensor.numel());
}

} // namespace

/// Of wider steps there are more phases than a cache should hold, of larger
/// images more scratch than should stay.
static bool isKnown(at::IntArrayRef input, const Window &window) {
  constexpr int64_t kMostStep = 2, kMostPlaces = int64_t(1) << 20;
  return hasWideVectors() && c10::multiply_integers(input) > 0 &&
         c10::multiply_integers(input.slice(2)) <= kMostPlaces &&
         std::ranges::max(window.stride) <= kMostStep;
}

bool depthwisePays(at::IntArrayRef input, const Window &window) {
  // Of more taps the loads are what takes the time.
  constexpr int64_t kMostTaps = 25;
  return isKnown(input, window) &&
         (window.size[0] * window.size[1] <= kMostTaps || isMapped(input));
}

bool depthwiseWeightGradPays(at::IntArrayRef input, const Window &window) {
  return isKnown(input, window);
}

bool depthwise(const Tensor &input, const Tensor &weight, const Tensor &bias,
               const Window &window, const Tensor &output) {
  if (!isFinite(weight))
    return false;
  auto images = WindowedImages::of(input, window, output);
  Layout layout(images);
  const float *taps = weight.const_data_ptr<float>();
  const float *biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  float *to = output.mutable_data_ptr<float>();
  int64_t phaseFloats = layout.phases() * layout.phaseFloats();
  forRanges(layout.planes(), [&](int64_t begin, int64_t end) {
    float *phases = zeros(phaseFloats + layout.count);
    float *sums = phases + phaseFloats;
    auto runs = layout.runs(phases);
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t channel = plane % images.channels;
      layout.spread(plane, phases);
      addRuns(runs, taps + channel * layout.taps(),
              biases ? biases[channel] : 0, layout.count, sums);
      layout.collectOutput(sums, to + plane * images.placesOfImage());
    }
  });
  return true;
}

bool depthwiseInputGrad(const Tensor &grad, const Tensor &weight,
                        const Window &window, const Tensor &gradInput) {
  if (!isFinite(weight))
    return false;
  auto images = WindowedImages::of(gradInput, window, grad);
  Layout layout(images);
  const float *from = grad.const_data_ptr<float>(),
              *taps = weight.const_data_ptr<float>();
  float *to = gradInput.mutable_data_ptr<float>();
  forRanges(layout.planes(), [&](int64_t begin, int64_t end) {
    float *memory =
        zeros(layout.gradFloats() + layout.phases() * layout.phaseFloats());
    float *grads = memory + layout.reach,
          *phases = memory + layout.gradFloats();
    std::vector<float> factors;
    std::vector<Layout::GradRuns> runs;
    for (int64_t phase = 0; phase < layout.phases(); ++phase)
      runs.push_back(layout.gradRuns(phase, grads));
    for (int64_t plane = begin; plane < end; ++plane) {
      layout.spreadOutput(from + plane * images.placesOfImage(), grads);
      const float *own = taps + plane % images.channels * layout.taps();
      for (int64_t phase = 0; phase < layout.phases(); ++phase) {
        factors.clear();
        for (int64_t tap : runs[phase].taps)
          factors.push_back(own[tap]);
        addRuns(runs[phase].runs, factors.data(), 0, layout.phaseCount,
                phases + phase * layout.phaseFloats());
      }
      layout.collect(phases, to + plane * images.plane());
    }
  });
  return true;
}

bool depthwiseWeightGrad(const Tensor &grad, const Tensor &input,
                         const Window &window, const Tensor &gradWeight) {
  auto images = WindowedImages::of(input, window, grad);
  Layout layout(images);
  const float *from = grad.const_data_ptr<float>();
  int64_t taps = layout.taps(),
          phaseFloats = layout.phases() * layout.phaseFloats();
  std::vector<float> sums(layout.planes() * taps);
  forRanges(layout.planes(), [&](int64_t begin, int64_t end) {
    float *phases = zeros(phaseFloats + layout.count);
    float *grads = phases + phaseFloats;
    auto runs = layout.runs(phases);
    for (int64_t plane = begin; plane < end; ++plane) {
      layout.spread(plane, phases);
      layout.spreadOutput(from + plane * images.placesOfImage(), grads);
      multiplyRuns(runs, grads, layout.count, sums.data() + plane * taps);
    }
  });
  float *to = gradWeight.mutable_data_ptr<float>();
  int64_t weights = images.channels * taps;
  for (int64_t i = 0; i < weights; ++i) {
    double sum = 0;
    for (int64_t image = 0; image < images.images; ++image)
      sum += sums[image * weights + i];
    to[i] = float(sum);
  }
  return isFinite(gradWeight);
}

} // namespace ltc::backend
