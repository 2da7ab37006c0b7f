//===- few_rows.cpp - Few rows times a large matrix -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By columns, a tile is the dot products of some rows with four columns, in
// which one load of a weight serves all the rows. The next four are brought
// near meanwhile: columns are too short for the processor to see where they go
// on. By rows, the sums go to and fro.
//
//===----------------------------------------------------------------------===//
#include "few_rows.h"

#include "block_product.h"
#include "pack.h"
#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <cstring>
#include <iterator>

namespace ltc::kernels {
namespace {

constexpr int64_t kMostByColumns = 64, kMostByRows = 16;
constexpr int64_t kTaskCols = 64;
constexpr int kCols = 4;
/// Whose sums stay in registers, with a row's and the columns' vectors.
constexpr int tileRows(int lanes) { return lanes == 16 ? 6 : 2; }
/// Elements of `a`, which every task reads: a second-level cache and more.
constexpr int64_t kLargest = 1 << 19;

using Sums __attribute__((vector_size(16))) = float;

template <int lanes>
LTC_INLINED Floats<lanes> loadSome(const float *data, int64_t count) {
  Floats<lanes> some;
  std::memcpy(&some, data, size_t(count) * sizeof(float));
  return some;
}

/// In each four lanes, sums of two of `a` and `b` by turns.
LTC_INLINED Floats<8> addPairs(const Floats<8> &a, const Floats<8> &b) {
  return {
      __builtin_shufflevector(a.values, b.values, 0, 8, 1, 9, 4, 12, 5, 13) +
      __builtin_shufflevector(a.values, b.values, 2, 10, 3, 11, 6, 14, 7, 15)};
}
LTC_INLINED Floats<16> addPairs(const Floats<16> &a, const Floats<16> &b) {
  return {__builtin_shufflevector(a.values, b.values, 0, 16, 1, 17, 4, 20, 5,
                                  21, 8, 24, 9, 25, 12, 28, 13, 29) +
          __builtin_shufflevector(a.values, b.values, 2, 18, 3, 19, 6, 22, 7,
                                  23, 10, 26, 11, 27, 14, 30, 15, 31)};
}

/// Of two of addPairs(), sums of four, in each four lanes.
LTC_INLINED Floats<8> addFours(const Floats<8> &ab, const Floats<8> &cd) {
  return {
      __builtin_shufflevector(ab.values, cd.values, 0, 1, 8, 9, 4, 5, 12, 13) +
      __builtin_shufflevector(ab.values, cd.values, 2, 3, 10, 11, 6, 7, 14,
                              15)};
}
LTC_INLINED Floats<16> addFours(const Floats<16> &ab, const Floats<16> &cd) {
  return {__builtin_shufflevector(ab.values, cd.values, 0, 1, 16, 17, 4, 5, 20,
                                  21, 8, 9, 24, 25, 12, 13, 28, 29) +
          __builtin_shufflevector(ab.values, cd.values, 2, 3, 18, 19, 6, 7, 22,
                                  23, 10, 11, 26, 27, 14, 15, 30, 31)};
}

template <int lanes> LTC_INLINED Sums four(const Floats<lanes> &of, int first) {
  Sums result;
  std::memcpy(&result, reinterpret_cast<const float *>(&of) + first,
              sizeof(result));
  return result;
}

/// The sum of each of four vectors' lanes.
template <int lanes> LTC_INLINED Sums sumLanes(const Floats<lanes> (&of)[4]) {
  Floats<lanes> fours =
      addFours(addPairs(of[0], of[1]), addPairs(of[2], of[3]));
  Sums sums = four(fours, 0) + four(fours, 4);
  if constexpr (lanes == 16)
    sums += four(fours, 8) + four(fours, 12);
  return sums;
}

/// Rows of `a` by columns of `b`, which are rows here.
struct Tile {
  Rows<const float> a, b;
  int64_t depth;
  Rows<float> sums; ///< kCols of each row
};

template <int lanes, int rows> LTC_INLINED void multiplyTile(const Tile &of) {
  using Vector = Floats<lanes>;
  Vector sum[rows][kCols];
  int64_t k = 0;
  auto step = [&](auto read) LTC_INLINED {
    Vector b[kCols];
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c)
      b[c] = read(of.b.row(c) + k);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      Vector a = read(of.a.row(r) + k);
#pragma GCC unroll 4
      for (int c = 0; c < kCols; ++c)
        sum[r][c].addProduct(a, b[c]);
    }
  };
#pragma GCC unroll 1
  for (; k + lanes <= of.depth; k += lanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c)
      __builtin_prefetch(of.b.row(c + kCols) + k, /*rw=*/0, /*locality=*/2);
    step([](const float *data) LTC_INLINED { return Vector::load(data); });
  }
  if (int64_t rest = of.depth - k)
    step([&](const float *data)
             LTC_INLINED { return loadSome<lanes>(data, rest); });
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) {
    Sums sums = sumLanes(sum[r]);
    std::memcpy(of.sums.row(r), &sums, sizeof(sums));
  }
}

template <int rows> LTC_AVX512 void multiplyWide(const Tile &of) {
  multiplyTile<16, rows>(of);
}
template <int rows> LTC_AVX2 void multiplyHalf(const Tile &of) {
  multiplyTile<8, rows>(of);
}

void multiplyTile(int64_t rows, const Tile &of) {
  using Multiply = void (*)(const Tile &);
  constexpr Multiply wide[] = {multiplyWide<1>, multiplyWide<2>,
                               multiplyWide<3>, multiplyWide<4>,
                               multiplyWide<5>, multiplyWide<6>};
  constexpr Multiply half[] = {multiplyHalf<1>, multiplyHalf<2>};
  static_assert(std::size(wide) == tileRows(16) &&
                std::size(half) == tileRows(8));
  (hasWideVectors() ? wide : half)[rows - 1](of);
}

/// All rows of `a` by some columns of `b`, at most kTaskCols.
void multiplyCols(Rows<const float> a, int64_t rows, const MatrixView &b,
                  Span cols, Rows<float> sums) {
  int64_t tiles = ceilDiv(rows, tileRows(hasWideVectors() ? 16 : 8));
  for (int64_t col = cols.begin; col < cols.end; col += kCols) {
    // The last tile does some of the one before again.
    int64_t at = std::min(col, b.cols - kCols);
    for (int64_t i = 0; i < tiles; ++i) {
      int64_t row = i * rows / tiles, end = (i + 1) * rows / tiles;
      multiplyTile(end - row,
                   {{a.row(row), a.stride},
                    {b.at(0, at), b.colStride},
                    b.rows,
                    {sums.row(row) + (at - cols.begin), sums.stride}});
    }
  }
}

void multiplyByColumns(const MatrixView &a, const MatrixView &b,
                       const MatrixView &addend, Rows<float> c) {
  static thread_local Scratch scratch;
  // Rows a power of two apart would share few lines of the cache.
  const int64_t stride = a.cols + kLineFloats;
  float *copied = scratch.reserve(a.rows * stride);
  pack(a, copied, stride);
  Rows<const float> rows{copied, stride};
  forRanges(ceilDiv(b.cols, kTaskCols), [&](int64_t begin, int64_t end) {
    // A last tile of less than kCols columns begins before the task's.
    alignas(64) float room[kMostByColumns][kCols + kTaskCols];
    for (int64_t i = begin; i < end; ++i) {
      Span cols{i * kTaskCols, std::min((i + 1) * kTaskCols, b.cols)};
      Rows<float> sums{&room[0][kCols], kCols + kTaskCols};
      multiplyCols(rows, a.rows, b, cols, sums);
      // It may be `c`.
      if (addend.data)
        add(addend.block(0, cols.begin, a.rows, cols.size()), sums);
      for (int64_t r = 0; r < a.rows; ++r)
        std::memcpy(c.row(r) + cols.begin, sums.row(r),
                    size_t(cols.size()) * sizeof(float));
    }
  });
}

/// The product as multiplyBlock() has it, of rows of `b` that are read where
/// they lie, a few at a time: so many streams the processor follows.
void multiplyByRows(const MatrixView &a, const MatrixView &b, Span cols,
                    bool accumulate, Rows<float> c) {
  constexpr int64_t kDeep = 16;
  static thread_local Scratch scratch;
  // A vector that would reach past the end of the rows is copied.
  const int64_t whole = cols.end - cols.size() % kLineFloats;
  float *rest = nullptr;
  if (whole < cols.end) {
    rest = scratch.reserve(b.rows * kLineFloats);
    pack(b.block(0, whole, b.rows, cols.end - whole), rest, kLineFloats);
  }
  for (int64_t k = 0; k < b.rows; k += kDeep) {
    auto multiply = [&](Span some, const float *from, int64_t stride) {
      multiplyBlock({.rows = a.rows,
                     .cols = some.size(),
                     .depth = std::min(kDeep, b.rows - k),
                     .a = {a.at(0, k), a.rowStride, a.colStride},
                     .b = from,
                     .bStride = stride,
                     .accumulate = accumulate || k > 0,
                     .c = {c.data + some.begin, c.stride},
                     .prefetch = {}});
    };
    for (int64_t col = cols.begin; col < whole; col += kPanelCols)
      multiply({col, std::min(col + kPanelCols, whole)}, b.at(k, col),
               b.rowStride);
    if (rest)
      multiply({whole, cols.end}, rest + k * kLineFloats, kLineFloats);
  }
}

void multiplyByRows(const MatrixView &a, const MatrixView &b,
                    const MatrixView &addend, Rows<float> c) {
  constexpr int64_t kWide = 256;
  const bool inPlace = addend.data == c.data;
  forRanges(ceilDiv(b.cols, kWide), [&](int64_t begin, int64_t end) {
    Span cols{begin * kWide, std::min(end * kWide, b.cols)};
    multiplyByRows(a, b, cols, inPlace, c);
    if (addend.data && !inPlace)
      add(addend.block(0, cols.begin, a.rows, cols.size()),
          {c.data + cols.begin, c.stride});
  });
}

} // namespace

bool isForFewRows(const MatrixView &a, const MatrixView &b) {
  if (!hasVectors())
    return false;
  if (b.colStride == 1)
    return a.rows >= 2 && a.rows <= kMostByRows;
  return b.cols >= kCols && a.rows <= kMostByColumns &&
         a.rows * a.cols <= kLargest;
}

void multiplyFewRows(const MatrixView &a, const MatrixView &b,
                     const MatrixView &addend, Rows<float> c) {
  if (b.colStride == 1)
    multiplyByRows(a, b, addend, c);
  else
    multiplyByColumns(a, b, addend, c);
}

} // namespace ltc::kernels
