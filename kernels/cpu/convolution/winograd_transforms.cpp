//===- winograd_transforms.cpp - To and from transformed tiles ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "winograd_transforms.h"

#include "wide_vectors.h"

#define LTC_INLINE LTC_AVX512 __attribute__((always_inline)) static inline

namespace ltc::kernels {
namespace {

using Vector = WideVector;
using InMemory = WideInMemory;

struct Four {
  Vector at[kSpots];
};
struct Three {
  Vector at[3];
};
struct Two {
  Vector at[kTile];
};

LTC_INLINE Vector load(const float *from) {
  return *reinterpret_cast<const InMemory *>(from);
}
LTC_INLINE void store(float *to, Vector value) {
  *reinterpret_cast<InMemory *>(to) = value;
}

LTC_INLINE Four ofInput(Vector a, Vector b, Vector c, Vector d) {
  return {{a - c, b + c, c - b, b - d}};
}
LTC_INLINE Four ofGrad(Vector a, Vector b) {
  return {{a, (a + b) * 0.5f, (a - b) * 0.5f, b}};
}
LTC_INLINE Four ofKernel(Vector a, Vector b, Vector c) {
  Vector outer = (a + c) * 0.5f, inner = b * 0.5f;
  return {{a, outer + inner, outer - inner, c}};
}
LTC_INLINE Two toOutput(Vector a, Vector b, Vector c, Vector d) {
  return {{a + (b + c), (b - c) - d}};
}
LTC_INLINE Three toKernelGrad(Vector a, Vector b, Vector c, Vector d) {
  return {{a + (b + c), b - c, (b + c) - d}};
}

/// Column `x` of some lines.
template <size_t count>
LTC_INLINE void loadColumn(const ImageLines<count> &from, int64_t x,
                           Vector (&to)[count]) {
  bool inside = x >= 0 && x < from.width;
#pragma GCC unroll 4
  for (size_t i = 0; i < count; ++i)
    to[i] =
        inside && from.lines[i] ? load(from.lines[i] + x * kLanes) : Vector{};
}

LTC_INLINE Four inputColumn(const ImageLines<kSpots> &from, int64_t x) {
  Vector d[kSpots];
  loadColumn(from, x, d);
  return ofInput(d[0], d[1], d[2], d[3]);
}

LTC_INLINE Four gradColumn(const ImageLines<kTile> &from, int64_t x) {
  Vector g[kTile];
  loadColumn(from, x, g);
  return ofGrad(g[0], g[1]);
}

LTC_INLINE void storeRow(const Four &values, int64_t row, TileValues to) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSpots; ++i)
    store(to.data + (row * kSpots + i) * to.spotStride, values.at[i]);
}

/// The rows of spots of a part.
template <int64_t parts, int64_t part> struct SpotRows {
  static constexpr int64_t count = kSpots / parts, begin = part * count;
};

template <int64_t parts, int64_t part>
LTC_AVX512 void inputPart(const ImageLines<kSpots> &from, int64_t first,
                          int64_t tiles, TileValues to) {
  using Rows = SpotRows<parts, part>;
  Four a = inputColumn(from, first), b = inputColumn(from, first + 1);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t x = first + kTile * (tile + 1);
    Four c = inputColumn(from, x), d = inputColumn(from, x + 1);
#pragma GCC unroll 4
    for (int64_t i = 0; i < Rows::count; ++i) {
      int64_t row = Rows::begin + i;
      storeRow(ofInput(a.at[row], b.at[row], c.at[row], d.at[row]), i, to);
    }
    a = c;
    b = d;
    to.data += kPanelCols;
  }
}

template <int64_t parts, int64_t part>
LTC_AVX512 void gradPart(const ImageLines<kTile> &from, int64_t tiles,
                         TileValues to) {
  using Rows = SpotRows<parts, part>;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    Four a = gradColumn(from, kTile * tile),
         b = gradColumn(from, kTile * tile + 1);
#pragma GCC unroll 4
    for (int64_t i = 0; i < Rows::count; ++i) {
      int64_t row = Rows::begin + i;
      storeRow(ofGrad(a.at[row], b.at[row]), i, to);
    }
    to.data += kPanelCols;
  }
}

/// The whole, halves, quarters.
int64_t indexOf(SpotPart part) { return part.parts - 1 + part.part; }
constexpr decltype(&inputPart<1, 0>) kInputParts[] = {
    inputPart<1, 0>, inputPart<2, 0>, inputPart<2, 1>, inputPart<4, 0>,
    inputPart<4, 1>, inputPart<4, 2>, inputPart<4, 3>};
constexpr decltype(&gradPart<1, 0>) kGradParts[] = {
    gradPart<1, 0>, gradPart<2, 0>, gradPart<2, 1>, gradPart<4, 0>,
    gradPart<4, 1>, gradPart<4, 2>, gradPart<4, 3>};

} // namespace

void transformInput(const ImageLines<kSpots> &from, int64_t first,
                    int64_t tiles, SpotPart part, TileValues to) {
  kInputParts[indexOf(part)](from, first, tiles, to);
}

void transformGrad(const ImageLines<kTile> &from, int64_t tiles, SpotPart part,
                   TileValues to) {
  kGradParts[indexOf(part)](from, tiles, to);
}

LTC_AVX512 void transformKernels(const float *from, int64_t count, bool turned,
                                 TileValues to) {
  for (int64_t kernel = 0; kernel < count; ++kernel) {
    Vector g[9];
#pragma GCC unroll 9
    for (int64_t i = 0; i < 9; ++i)
      g[i] = load(from + (turned ? 8 - i : i) * kLanes);
    Four a = ofKernel(g[0], g[3], g[6]), b = ofKernel(g[1], g[4], g[7]),
         c = ofKernel(g[2], g[5], g[8]);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSpots; ++i)
      storeRow(ofKernel(a.at[i], b.at[i], c.at[i]), i, to);
    from += 9 * kLanes;
    to.data += kPanelCols;
  }
}

LTC_AVX512 bool makeOutput(TileValues from, int64_t tiles, const float *bias,
                           const std::array<float *, kTile> &to,
                           int64_t width) {
  Vector added = bias ? load(bias) : Vector{}, check = {};
  for (int64_t tile = 0; tile < tiles; ++tile) {
    Two column[kSpots];
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSpots; ++i) {
      const float *m = from.data + i * from.spotStride;
      int64_t row = kSpots * from.spotStride;
      column[i] = toOutput(load(m), load(m + row), load(m + 2 * row),
                           load(m + 3 * row));
    }
#pragma GCC unroll 2
    for (int64_t i = 0; i < kTile; ++i) {
      Two y = toOutput(column[0].at[i], column[1].at[i], column[2].at[i],
                       column[3].at[i]);
      noteFinite(y.at[0], check);
      noteFinite(y.at[1], check);
      if (!to[i])
        continue;
      float *place = to[i] + kTile * tile * kLanes;
      store(place, y.at[0] + added);
      if (kTile * tile + 1 < width)
        store(place + kLanes, y.at[1] + added);
    }
    from.data += kPanelCols;
  }
  return areFinite(check);
}

LTC_AVX512 bool makeKernelGrad(const std::array<const float *, kSpots> &rows,
                               int64_t spotStride, float *to, int64_t stride) {
  Three column[kSpots];
  Vector check = {};
#pragma GCC unroll 4
  for (int64_t i = 0; i < kSpots; ++i) {
    int64_t at = i * spotStride;
    column[i] = toKernelGrad(load(rows[0] + at), load(rows[1] + at),
                             load(rows[2] + at), load(rows[3] + at));
  }
#pragma GCC unroll 3
  for (int64_t i = 0; i < 3; ++i) {
    Three y = toKernelGrad(column[0].at[i], column[1].at[i], column[2].at[i],
                           column[3].at[i]);
#pragma GCC unroll 3
    for (int64_t j = 0; j < 3; ++j) {
      noteFinite(y.at[j], check);
      store(to + (3 * i + j) * stride, y.at[j]);
    }
  }
  return areFinite(check);
}

} // namespace ltc::kernels
