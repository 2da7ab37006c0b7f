//===- block_product.cpp - A block of rows times a panel ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is cut into tiles of up to kTileRows rows and all columns, whose
// sums stay in registers: 6 x 4 of AVX-512's 32, after the register kernel of
// gemm.h's paper. Each size of tile is a function of its own. With AVX2 it is
// done a cache line's columns at a time, 6 x 2 of 16 registers, and four steps
// deep at once: the instructions that are no products would take longer than
// those that are.
//
//===----------------------------------------------------------------------===//
#include "block_product.h"

#include "tensor_view.h"
#include "vectors.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <utility>

namespace ltc::kernels {
namespace {

constexpr int64_t kVectors = kPanelCols / kLineFloats;
constexpr int64_t kTileRows = 6;

struct Tile {
  int64_t depth;
  BlockLeft a;
  const float *b;
  int64_t bStride;
  bool accumulate;
  Rows<float> c;
  const float *soon; ///< to prefetch: a line of each row, `soonStride` apart
  int64_t soonStride;
};

/// The sums of a tile, in registers.
template <int lanes, int rows, int vectors> struct Sums {
  using Vector = Floats<lanes>;

  /// What one step of the depth adds: `left(r)` is an element of row r.
  template <typename Left>
  LTC_INLINED void add(const Left &left, const float *b) {
    Vector right[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v)
      right[v] = Vector::load(b + v * lanes);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v)
        sum[r][v].addProduct(right[v], left(r));
  }

  LTC_INLINED void store(const Tile &at) {
    // Not before: sums of fewer terms lose fewer digits.
    if (at.accumulate)
#pragma GCC unroll 6
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int64_t v = 0; v < vectors; ++v)
          sum[r][v] = sum[r][v] + Vector::load(at.c.row(r) + v * lanes);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v)
        sum[r][v].store(at.c.row(r) + v * lanes);
  }

  Vector sum[rows][vectors];
};

template <int rows, int vectors> LTC_AVX512 void multiplyWide(const Tile &at) {
  Sums<16, rows, vectors> sums;
  const float *b = at.b, *soon = at.soon;
  const int64_t stride = at.a.rowStride;
  for (int64_t piece = 0; piece < at.a.pieces; ++piece) {
    const float *a = at.a.data + piece * at.a.pieceStride;
#pragma GCC unroll 1
    for (int64_t k = 0; k < at.depth; ++k) {
      __builtin_prefetch(soon, /*rw=*/0, /*locality=*/2);
      sums.add([&](int r) LTC_INLINED { return a[r * stride]; }, b);
      a += at.a.depthStride;
      b += at.bStride;
      soon += at.soonStride;
    }
  }
  sums.store(at);
}

template <int rows, bool byRows> LTC_AVX2 void multiplyLine(const Tile &at) {
  constexpr int64_t kSteps = 4;
  Sums<8, rows, kLineFloats / 8> sums;
  const int64_t down = byRows ? at.a.rowStride : 1,
                deep = byRows ? 1 : at.a.depthStride;
  const float *b = at.b, *soon = at.soon;
  for (int64_t piece = 0; piece < at.a.pieces; ++piece) {
    // An address of x86 adds once or twice `down`, and a constant.
    const float *a = at.a.data + piece * at.a.pieceStride,
                *below = a + 3 * down;
    auto add = [&](int64_t step) LTC_INLINED {
      const float *x = a + step * deep, *y = below + step * deep;
      sums.add(
          [=](int r)
              LTC_INLINED { return r < 3 ? x[r * down] : y[(r - 3) * down]; },
          b + step * at.bStride);
    };
    auto goOn = [&](int64_t steps) LTC_INLINED {
      a += steps * deep;
      below += steps * deep;
      b += steps * at.bStride;
    };
    int64_t left = at.depth;
    for (; left >= kSteps; left -= kSteps) {
      asm("" : "+r"(a), "+r"(below)); // two addresses, not one and a sum
      if (at.soonStride != 0)
#pragma GCC unroll 4
        for (int64_t step = 0; step < kSteps; ++step, soon += at.soonStride)
          __builtin_prefetch(soon, /*rw=*/0, /*locality=*/2);
#pragma GCC unroll 4
      for (int64_t step = 0; step < kSteps; ++step)
        add(step);
      goOn(kSteps);
    }
    for (; left > 0; --left) {
      add(0);
      goOn(1);
    }
  }
  sums.store(at);
}

using Multiply = void (*)(const Tile &);

/// By rows, from one on.
template <int vectors>
constexpr Multiply kWide[] = {
    multiplyWide<1, vectors>, multiplyWide<2, vectors>,
    multiplyWide<3, vectors>, multiplyWide<4, vectors>,
    multiplyWide<5, vectors>, multiplyWide<6, vectors>};
template <bool byRows>
constexpr Multiply kLine[] = {multiplyLine<1, byRows>, multiplyLine<2, byRows>,
                              multiplyLine<3, byRows>, multiplyLine<4, byRows>,
                              multiplyLine<5, byRows>, multiplyLine<6, byRows>};
static_assert(std::size(kLine<true>) == kTileRows);

void multiplyTile(int64_t rows, int64_t cols, Tile at) {
  constexpr const Multiply *byVectors[] = {kWide<1>, kWide<2>, kWide<3>,
                                           kWide<4>};
  static_assert(std::size(byVectors) == kVectors);
  int64_t vectors = ceilDiv(cols, kLineFloats);
  if (hasWideVectors())
    return byVectors[vectors - 1][rows - 1](at);
  bool byRows = at.a.depthStride == 1;
  assert(byRows || at.a.rowStride == 1);
  for (int64_t v = 0; v < vectors; ++v) {
    (byRows ? kLine<true> : kLine<false>)[rows - 1](at);
    at.b += kLineFloats;
    at.c.data += kLineFloats;
    at.soonStride = 0; // that much is near now
  }
}

/// A tile whose last vector would reach past the end of `c`'s rows.
void multiplyEdge(int64_t rows, int64_t cols, Tile at) {
  alignas(64) float sums[kTileRows * kPanelCols];
  Rows<float> inside{sums, kPanelCols}, c = std::exchange(at.c, inside);
  for (int64_t r = 0; at.accumulate && r < rows; ++r)
    std::memcpy(inside.row(r), c.row(r), cols * sizeof(float));
  multiplyTile(rows, cols, at);
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(c.row(r), inside.row(r), cols * sizeof(float));
}

} // namespace

void multiplyBlock(const BlockProduct &of) {
  int64_t tiles = ceilDiv(of.rows, kTileRows);
  bool isWhole = of.cols % kLineFloats == 0;
  for (int64_t i = 0; i < tiles; ++i) {
    // Tiles of equal height, or one of a row would be left.
    int64_t row = i * of.rows / tiles, rows = (i + 1) * of.rows / tiles - row;
    bool fetches = i < of.prefetch.lines;
    Tile tile{of.depth,
              of.a,
              of.b,
              of.bStride,
              of.accumulate,
              {of.c.row(row), of.c.stride},
              fetches ? of.prefetch.data + i * of.prefetch.lineStride : of.b,
              fetches ? of.prefetch.stride : 0};
    tile.a.data += row * of.a.rowStride;
    if (isWhole)
      multiplyTile(rows, of.cols, tile);
    else
      multiplyEdge(rows, of.cols, tile);
  }
}

} // namespace ltc::kernels
