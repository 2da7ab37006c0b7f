//===- winograd_transforms.h - To and from transformed tiles ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In one dimension, with d an input tile, g a kernel, y its output and m the
// four products of what the first two become:
//
//   d0 - d2, d1 + d2, d2 - d1, d1 - d3
//   g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
//   y0 = m0 + m1 + m2, y1 = m1 - m2 - m3
//
// A weight's gradient is the output of three of which that of y is the kernel:
//
//   g0, (g0 + g1) / 2, (g0 - g1) / 2, g1
//   y0 = m0 + m1 + m2, y1 = m1 - m2, y2 = m1 + m2 - m3
//
// In two dimensions this happens to columns and then to rows. All work on
// kLanes channels, whose values stand next to each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "product/block_product.h"

#include <array>

namespace ltc::kernels {

inline constexpr int64_t kLanes = kLineFloats;
/// Places of an output tile and of a transformed one, along one dimension.
inline constexpr int64_t kTile = 2, kSpots = 4, kAllSpots = kSpots * kSpots;

/// Some of a tile's 16 spots: all, or one of 2 or 4 equal parts in order.
struct SpotPart {
  int64_t parts = 1, part = 0;
};

/// The same channels of the values of some tiles: at the i-th of some spots,
/// that of the j-th tile at data[i * spotStride + j * kPanelCols].
struct TileValues {
  float *data;
  int64_t spotStride;
};

/// Lines of an image's places, kLanes floats each; null is a line of zeros.
template <size_t count> struct ImageLines {
  std::array<const float *, count> lines;
  int64_t width; ///< of them all; there are zeros beyond
};

/// `tiles` input tiles side by side, the first from column `first` on.
void transformInput(const ImageLines<kSpots> &from, int64_t first,
                    int64_t tiles, SpotPart part, TileValues to);

/// The same of an output's gradient, whose tiles begin at column 0.
void transformGrad(const ImageLines<kTile> &from, int64_t tiles, SpotPart part,
                   TileValues to);

/// Values of `count` kernels, one after the other at `from`. `turned`: of
/// kernels that are turned by 180 degrees.
void transformKernels(const float *from, int64_t count, bool turned,
                      TileValues to);

/// Output tiles, to which `bias`, unless null, is added, in two lines of
/// places, of which the second may be null. False if a value is not finite.
bool makeOutput(TileValues from, int64_t tiles, const float *bias,
                const std::array<float *, kTile> &to, int64_t width);

/// The nine values of a kernel's gradient, from products at rows of spots,
/// which stand `spotStride` apart: value i at to[i * stride]. False as above.
bool makeKernelGrad(const std::array<const float *, kSpots> &rows,
                    int64_t spotStride, float *to, int64_t stride);

} // namespace ltc::kernels
