//===- plain_convolution.cpp - Convolutions of any geometry ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution/plain_convolution.h"

#include "threads/for_ranges.h"

namespace ltc::kernels {
namespace {

using Place = std::array<int64_t, 3>;
constexpr int64_t kDims = 3; ///< those that are absent come first

/// Sizes or strides of a tensor's last dimensions, or a list of the geometry.
Place placeOf(Sizes list, int64_t absent) {
  Place place;
  place.fill(absent);
  std::ranges::copy_backward(list, place.end());
  return place;
}

/// The next place of a box of these sizes; false behind the last.
bool advance(Place &place, const Place &sizes) {
  for (int64_t dim = kDims; dim-- > 0; place[dim] = 0)
    if (++place[dim] < sizes[dim])
      return true;
  return false;
}

template <typename T> struct Image {
  Image(const TensorView &t, int64_t first, int64_t second)
      : data(t.as<T>() + first * t.strides[0] + second * t.strides[1]),
        sizes(placeOf(t.shape().subspan(2), 1)),
        strides(placeOf({t.strides + 2, t.rank - 2}, 0)) {}

  T &at(const Place &place) const {
    return data[place[0] * strides[0] + place[1] * strides[1] +
                place[2] * strides[2]];
  }

  T *data;
  Place sizes, strides;
};

template <typename T> class Plain {
public:
  Plain(const TensorView &input, const TensorView &weight,
        const TensorView &bias, const Geometry &of, const TensorView &output)
      : input(input), weight(weight), bias(bias), output(output),
        stride(placeOf(of.stride, 1)), padding(placeOf(of.padding, 0)),
        dilation(placeOf(of.dilation, 1)), isTransposed(of.isTransposed),
        channels(input.size(1) / of.groups),
        kernels(output.size(1) / of.groups) {}

  void run() const {
    int64_t all = output.size(1);
    forRanges(output.size(0) * all, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        make(i / all, i % all);
    });
  }

private:
  /// What one kernel makes of one image.
  void make(int64_t image, int64_t kernel) const {
    Image<T> to(output, image, kernel);
    Place place{};
    do {
      double sum =
          bias.isDefined() ? double(bias.as<T>()[kernel * bias.strides[0]]) : 0;
      for (int64_t c = 0; c < channels; ++c)
        sum += sumOf(image, kernel, c, place);
      to.at(place) = T(sum);
    } while (advance(place, to.sizes));
  }

  double sumOf(int64_t image, int64_t kernel, int64_t c,
               const Place &place) const {
    int64_t channel = kernel / kernels * channels + c;
    Image<T> from(input, image, channel);
    Image<T> by = isTransposed ? Image<T>(weight, channel, kernel % kernels)
                               : Image<T>(weight, kernel, c);
    double sum = 0;
    Place tap{}, at;
    do {
      if (reads(place, tap, from.sizes, at))
        sum += double(from.at(at)) * double(by.at(tap));
    } while (advance(tap, by.sizes));
    return sum;
  }

  /// Where a tap of the window at a place of the output reads, if it does.
  bool reads(const Place &place, const Place &tap, const Place &sizes,
             Place &at) const {
    for (int64_t d = 0; d < kDims; ++d) {
      int64_t inside = tap[d] * dilation[d] - padding[d];
      if (isTransposed) {
        at[d] = place[d] - inside;
        if (at[d] < 0 || at[d] % stride[d] != 0)
          return false;
        at[d] /= stride[d];
      } else {
        at[d] = place[d] * stride[d] + inside;
      }
      if (at[d] < 0 || at[d] >= sizes[d])
        return false;
    }
    return true;
  }

  const TensorView &input, &weight, &bias, &output;
  const Place stride, padding, dilation;
  const bool isTransposed;
  const int64_t channels, kernels; ///< of a group
};

} // namespace

bool plainConvolution(const TensorView &input, const TensorView &weight,
                      const TensorView &bias, const Geometry &geometry,
                      const TensorView &output) {
  if (output.rank < 3 || output.rank > kDims + 2)
    return false;
  if (output.elements() == 0)
    return true;
  if (output.dtype == DType::F32)
    Plain<float>(input, weight, bias, geometry, output).run();
  else if (output.dtype == DType::F64)
    Plain<double>(input, weight, bias, geometry, output).run();
  else
    return false;
  return true;
}

} // namespace ltc::kernels
