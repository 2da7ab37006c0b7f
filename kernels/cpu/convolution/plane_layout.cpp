//===- plane_layout.cpp - Planes of images as runs ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "plane_layout.h"

#include "runs.h"

#include <algorithm>
#include <cstring>

namespace ltc::kernels {

/// A line of `size` floats or more, the last ones with some of those before.
template <int size>
LTC_INLINED static void copyBy(const float *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + size <= count; i += size)
    std::memcpy(to + i, from + i, size * sizeof(float));
  std::memcpy(to + count - size, from + count - size, size * sizeof(float));
}

/// A line, which may be shorter than a call of memcpy() is worth.
LTC_INLINED static void copyLine(const float *from, int64_t count, float *to) {
  if (count >= 16)
    return copyBy<16>(from, count, to);
  if (count >= 8)
    return copyBy<8>(from, count, to);
  if (count >= 4)
    return copyBy<4>(from, count, to);
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i];
}

PlaneLayout::PlaneLayout(const WindowedImages &images)
    : images(images), stepY(images.window.stride[0]),
      stepX(images.window.stride[1]), top(images.window.padding[0]),
      left(images.window.padding[1]),
      pitch(ceilDiv(images.width + 2 * left, stepX)),
      lines(ceilDiv(images.height + 2 * top, stepY)),
      count(roundUp(images.places[0] * pitch, kRunStep)),
      phaseCount(roundUp(lines * pitch, kRunStep)),
      reach(offset(images.window.size[0] - 1, images.window.size[1] - 1)) {
  for (int64_t row = top; row < top + images.height; ++row)
    lineOffsets.push_back(row % stepY * stepX * phaseFloats() +
                          row / stepY * pitch);
}

int64_t PlaneLayout::phaseFloats() const {
  return std::max(phaseCount, count + reach);
}

int64_t PlaneLayout::gradFloats() const {
  return reach + std::max(phaseCount, count);
}

LTC_INLINED inline void PlaneLayout::spreadLine(const float *__restrict from,
                                                float *__restrict line) const {
  if (stepX == 1)
    return copyLine(from, images.width, line + left);
  float *__restrict even = columns(line, 0), *__restrict odd = columns(line, 1);
  int64_t pairs = images.width / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    even[i] = from[2 * i];
    odd[i] = from[2 * i + 1];
  }
  if (images.width % 2)
    even[pairs] = from[2 * pairs];
}

LTC_INLINED inline void PlaneLayout::collectLine(const float *__restrict line,
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

void PlaneLayout::spread(int64_t number, float *phases) const {
  const float *plane = images.data + number * images.plane();
  withVectors([&](auto) LTC_INLINED {
    for (int64_t y = 0; y < images.height; ++y)
      spreadLine(plane + y * images.width, phases + lineOffsets[y]);
  });
}

void PlaneLayout::collect(const float *phases, float *plane) const {
  withVectors([&](auto) LTC_INLINED {
    for (int64_t y = 0; y < images.height; ++y)
      collectLine(phases + lineOffsets[y], plane + y * images.width);
  });
}

void PlaneLayout::spreadOutput(const float *plane, float *to) const {
  auto [height, width] = images.places;
  withVectors([=, this](auto) LTC_INLINED {
    for (int64_t y = 0; y < height; ++y)
      copyLine(plane + y * width, width, to + y * pitch);
  });
}

void PlaneLayout::collectOutput(const float *from, float *plane) const {
  auto [height, width] = images.places;
  withVectors([=, this](auto) LTC_INLINED {
    for (int64_t y = 0; y < height; ++y)
      copyLine(from + y * pitch, width, plane + y * width);
  });
}

int64_t PlaneLayout::offset(int64_t r, int64_t s) const {
  auto [y, x] = images.window.dilation;
  return r * y / stepY * pitch + s * x / stepX;
}

template <typename Visit> void PlaneLayout::forTaps(const Visit &visit) const {
  auto [height, width] = images.window.size;
  auto [y, x] = images.window.dilation;
  for (int64_t r = 0; r < height; ++r)
    for (int64_t s = 0; s < width; ++s)
      visit(r * y % stepY * stepX + s * x % stepX, offset(r, s));
}

void PlaneLayout::appendRuns(const float *phases,
                             std::vector<const float *> &runs) const {
  forTaps([&](int64_t phase, int64_t offset) {
    runs.push_back(phases + phase * phaseFloats() + offset);
  });
}

void PlaneLayout::appendGradRuns(int64_t phase, const float *grad,
                                 std::vector<const float *> &runs) const {
  forTaps([&](int64_t of, int64_t offset) {
    if (of == phase)
      runs.push_back(grad - offset);
  });
}

std::vector<int64_t> PlaneLayout::tapsOf(int64_t phase) const {
  std::vector<int64_t> result;
  int64_t tap = 0;
  forTaps([&](int64_t of, int64_t) {
    if (of == phase)
      result.push_back(tap);
    ++tap;
  });
  return result;
}

} // namespace ltc::kernels
