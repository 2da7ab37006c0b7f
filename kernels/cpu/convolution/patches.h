//===- patches.h - What a convolution's window sees -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "product/pack.h"

#include <array>

namespace ltc::kernels {

/// How a kernel's window moves over images, by dimension.
struct Window {
  std::array<int64_t, 2> size{1, 1}, stride{1, 1}, padding{0, 0},
      dilation{1, 1};

  /// Whether it sees each place of an image once, and no other.
  bool isPointwise() const {
    constexpr std::array<int64_t, 2> one{1, 1}, none{0, 0};
    return size == one && stride == one && padding == none;
  }
};

/// Whether glibc's malloc maps a float32 tensor of these sizes anew each time,
/// since its threshold for that grows to 32 MiB and no further. oneDNN's
/// kernels copy a tensor to an order of their own; where the system has to
/// clear pages for the copy, that takes longer than the sums.
bool isMapped(Sizes sizes);

/// A convolution's images (images, channels, height, width), around which are
/// zeros, and its output's places (places[0], places[1]) in each.
struct WindowedImages {
  const float *data;
  int64_t images, channels, height, width;
  Window window;
  std::array<int64_t, 2> places;

  /// Of `input` (N, C, H, W) and a float32 tensor (N, K, Y, X) of the places;
  /// the dimensions of H and Y may be absent.
  static WindowedImages of(const TensorView &input, const Window &window,
                           const TensorView &output);

  int64_t plane() const { return height * width; }
  int64_t placesOfImage() const { return places[0] * places[1]; }
  int64_t allPlaces() const { return images * placesOfImage(); }
  /// Values of a patch: those of each channel that the window sees.
  int64_t depth() const { return channels * window.size[0] * window.size[1]; }
};

/// The patches of some places, counted through all images, as the columns of a
/// matrix: row (channel, line, column of the window), as a weight has them.
class Patches {
public:
  static constexpr int64_t kMostLines = 32; ///< of a window

  /// `some`: at most kPanelCols.
  Patches(const WindowedImages &of, Span some);

  /// Rows `depth`, kPanelCols floats each; of those past the last place whole
  /// vectors are zero or not written. For processors with hasVectors().
  void read(Span depth, float *to) const;

  /// Adds such rows to the places of `images`, which are laid out as `of`, that
  /// read() would have read them from.
  void add(Span depth, const float *from, float *images) const;

private:
  static constexpr int64_t kGroups = kPanelCols / kLineFloats;

  /// Places whose values are `apart` from each other: for the window's first
  /// place and a channel's first value, lane i's is `first + i * apart`.
  struct Run {
    int64_t first;
    uint16_t lanes;
  };
  /// Places whose values are a vector.
  struct Group {
    std::array<Run, kLineFloats> runs;
    int64_t count = 0;
    std::array<uint16_t, kMostLines> lines{}, columns{}; ///< inside the image
  };
  /// Places of one line of the output, from lane `lane` on.
  void append(Span some, int64_t lane, Group &to) const;
  /// visit(row of patches, offset in the images, group, lanes inside)
  template <typename Visit> void forRows(Span depth, const Visit &visit) const;

  const WindowedImages &of;
  const int64_t used;  ///< groups
  const int64_t apart; ///< values that a load takes: 1, or every other one, 2
  std::array<Group, kGroups> groups;
};

} // namespace ltc::kernels
