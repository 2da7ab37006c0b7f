//===- unfolded_convolution.cpp - Convolutions as products ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution/unfolded_convolution.h"

#include "product/gemm.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ltc::kernels {
namespace {

constexpr size_t kDims = 3;
using Place = std::array<int64_t, kDims>;

Place placeOf(Sizes list, int64_t absent) {
  Place place;
  place.fill(absent);
  std::ranges::copy_backward(list, place.end());
  return place;
}

Place placeAt(int64_t number, const Place &sizes) {
  return {number / (sizes[1] * sizes[2]), number / sizes[2] % sizes[1],
          number % sizes[2]};
}

class Unfolded {
public:
  Unfolded(const TensorView &input, const TensorView &weight,
           const Geometry &of, const TensorView &output)
      : from(placeOf(input.shape().subspan(2), 1)),
        window(placeOf(weight.shape().subspan(2), 1)),
        to(placeOf(output.shape().subspan(2), 1)),
        stride(placeOf(of.stride, 1)), padding(placeOf(of.padding, 0)),
        dilation(placeOf(of.dilation, 1)), channels(weight.size(1)) {}

  int64_t taps() const { return window[0] * window[1] * window[2]; }
  int64_t rows() const { return channels * taps(); }
  int64_t places() const { return to[0] * to[1] * to[2]; }
  int64_t inputs() const { return from[0] * from[1] * from[2]; }

  /// Columns [begin, end) of a group's images, row by row.
  void fill(const float *images, int64_t begin, int64_t end,
            float *columns) const {
    forRanges(rows(), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row)
        fillRow(images + row / taps() * inputs(), row % taps(), begin, end,
                columns + row * (end - begin));
    });
  }

private:
  void fillRow(const float *image, int64_t tap, int64_t begin, int64_t end,
               float *row) const {
    Place inside = placeAt(tap, window);
    for (size_t d = 0; d < kDims; ++d)
      inside[d] = inside[d] * dilation[d] - padding[d];
    while (begin < end) {
      Place place = placeAt(begin, to);
      int64_t count = std::min(to[2] - place[2], end - begin);
      int64_t z = place[0] * stride[0] + inside[0],
              y = place[1] * stride[1] + inside[1],
              x = place[2] * stride[2] + inside[2];
      bool isOutside = z < 0 || z >= from[0] || y < 0 || y >= from[1];
      const float *line = image + (z * from[1] + y) * from[2];
      for (int64_t i = 0; i < count; ++i, x += stride[2])
        *row++ = isOutside || x < 0 || x >= from[2] ? 0 : line[x];
      begin += count;
    }
  }

  const Place from, window, to, stride, padding, dilation;
  const int64_t channels; ///< of a group
};

} // namespace

bool unfoldedConvolution(const TensorView &input, const TensorView &weight,
                         const TensorView &bias, const Geometry &geometry,
                         const TensorView &output) {
  if (!hasVectors() || geometry.isTransposed || output.rank < 3 ||
      output.rank > kDims + 2 ||
      !areDense(std::array{input, weight, bias, output}))
    return false;
  Unfolded unfolded(input, weight, geometry, output);
  const int64_t rows = unfolded.rows(), places = unfolded.places(),
                kernels = weight.size(0) / geometry.groups;
  if (output.elements() == 0 || rows == 0)
    return false;
  constexpr int64_t kRoom = 1 << 18, kFewest = 256;
  const int64_t step = std::min(places, std::max(kRoom / rows, kFewest));
  std::vector<float> columns(size_t(rows * step));
  for (int64_t i = 0; i < output.size(0) * geometry.groups; ++i) {
    int64_t group = i % geometry.groups;
    const float *images =
        input.as<float>() + i * weight.size(1) * unfolded.inputs();
    MatrixView by{weight.as<float>() + group * kernels * rows, kernels, rows,
                  rows, 1};
    for (int64_t begin = 0; begin < places; begin += step) {
      int64_t count = std::min(step, places - begin);
      unfolded.fill(images, begin, begin + count, columns.data());
      MatrixView added{};
      if (bias.isDefined())
        added = {bias.as<float>() + group * kernels, kernels, count, 1, 0};
      gemm(by, {columns.data(), rows, count, count, 1}, added,
           {output.as<float>() + i * kernels * places + begin, places});
    }
  }
  return true;
}

} // namespace ltc::kernels
