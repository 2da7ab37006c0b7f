//===- block_product.cpp - A block of rows times a panel ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "block_product.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#if defined(__x86_64__)
#define LTC_AVX512 __attribute__((target("avx512f")))
#else
#define LTC_AVX512
#endif

namespace ltc::backend {
namespace {

constexpr int64_t kLane = 16, kVectors = kBlockCols / kLane;
/// A tile of so many rows and all vectors has its sums in registers.
constexpr int64_t kTileRows = 6;

using Vector __attribute__((vector_size(64))) = float;
using InMemory __attribute__((vector_size(64), aligned(4), may_alias)) = float;

struct Block {
  int64_t depth;
  BlockLeft a;
  const float *b;
  bool accumulate;
  float *c;
  int64_t cStride;
  const float *soon; ///< a line of each row, `soonStride` apart
  int64_t soonStride;
};

template <int rows, int vectors> LTC_AVX512 void multiplyTile(const Block &at) {
  Vector sum[rows][vectors] = {};
  const float *b = at.b, *soon = at.soon;
  const int64_t stride = at.a.rowStride;
  for (int64_t piece = 0; piece < at.a.pieces; ++piece) {
    const float *a = at.a.data + piece * at.a.pieceStride;
#pragma GCC unroll 1
    for (int64_t k = 0; k < at.depth; ++k) {
      __builtin_prefetch(soon, /*rw=*/0, /*locality=*/2);
#pragma GCC unroll 6
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
          sum[r][v] += a[r * stride] *
                       *reinterpret_cast<const InMemory *>(b + v * kLane);
      a += at.a.depthStride;
      b += kBlockCols;
      soon += at.soonStride;
    }
  }
  // Not before: sums of fewer terms lose fewer digits.
  if (at.accumulate)
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        sum[r][v] += *reinterpret_cast<const InMemory *>(at.c + r * at.cStride +
                                                         v * kLane);
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<InMemory *>(at.c + r * at.cStride + v * kLane) =
          sum[r][v];
}

template <int vectors> void multiplyTile(int64_t rows, const Block &at) {
  using Tile = void (*)(const Block &);
  constexpr Tile byRows[] = {
      multiplyTile<1, vectors>, multiplyTile<2, vectors>,
      multiplyTile<3, vectors>, multiplyTile<4, vectors>,
      multiplyTile<5, vectors>, multiplyTile<6, vectors>};
  static_assert(std::size(byRows) == kTileRows);
  byRows[rows - 1](at);
}

} // namespace

void multiplyBlock(int64_t rows, int64_t cols, int64_t depth,
                   const BlockLeft &a, const float *b, bool accumulate,
                   float *c, int64_t cStride, const SoonRead &soon) {
  using Tiles = void (*)(int64_t, const Block &);
  constexpr Tiles byVectors[] = {multiplyTile<1>, multiplyTile<2>,
                                 multiplyTile<3>, multiplyTile<4>};
  static_assert(std::size(byVectors) == kVectors);
  Tiles multiply = byVectors[(cols + kLane - 1) / kLane - 1];
  int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t i = 0; i < tiles; ++i) {
    int64_t row = i * rows / tiles, count = (i + 1) * rows / tiles - row;
    bool fetches = i < soon.lines;
    Block at{depth,
             a,
             b,
             accumulate,
             c + row * cStride,
             cStride,
             fetches ? soon.data + i * soon.lineStride : b,
             fetches ? soon.stride : 0};
    at.a.data += row * a.rowStride;
    if (cols % kLane == 0) {
      multiply(count, at);
      continue;
    }
    // A vector would reach past the end of a row.
    alignas(64) float sums[kTileRows * kBlockCols];
    for (int64_t r = 0; accumulate && r < count; ++r)
      std::memcpy(sums + r * kBlockCols, at.c + r * cStride,
                  cols * sizeof(float));
    float *out = std::exchange(at.c, sums);
    at.cStride = kBlockCols;
    multiply(count, at);
    for (int64_t r = 0; r < count; ++r)
      std::memcpy(out + r * cStride, sums + r * kBlockCols,
                  cols * sizeof(float));
  }
}

} // namespace ltc::backend
