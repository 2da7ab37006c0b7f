//===- transpose.cpp - Columns become rows --------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of 8 x 8 or 16 x 16 are turned in registers. Two steps exchange single
// elements and pairs between four rows, which leaves fours: f[g][c] has columns
// c, c + 4 and so on of the rows from 4 g. The rest exchanges whole fours.
//
//===----------------------------------------------------------------------===//
#include "product/transpose.h"

#include "vectors.h"

#include <algorithm>

namespace ltc::kernels {
namespace {

struct Turned {
  int64_t rows, cols;
  const float *from;
  int64_t fromStride;
  float *to;
  int64_t toStride;
};

using Half = Floats<8>::Register;
using Wide = Floats<16>::Register;

/// Of each four lanes, the first two of both by turns; and the last two.
LTC_INLINED Half firstTwo(Half a, Half b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}
LTC_INLINED Half lastTwo(Half a, Half b) {
  return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
LTC_INLINED Wide firstTwo(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25,
                                 12, 28, 13, 29);
}
LTC_INLINED Wide lastTwo(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,
                                 27, 14, 30, 15, 31);
}

/// The first pair of each four lanes of both; and the last.
LTC_INLINED Half firstPairs(Half a, Half b) {
  return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
}
LTC_INLINED Half lastPairs(Half a, Half b) {
  return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
LTC_INLINED Wide firstPairs(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25,
                                 12, 13, 28, 29);
}
LTC_INLINED Wide lastPairs(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26,
                                 27, 14, 15, 30, 31);
}

/// Fours 0, 2 of both, or 1, 3.
LTC_INLINED Wide evenFours(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19,
                                 24, 25, 26, 27);
}
LTC_INLINED Wide oddFours(Wide a, Wide b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                 23, 28, 29, 30, 31);
}

/// Columns c, c + 4 and so on, of their fours in all groups of rows.
LTC_INLINED void exchangeFours(const Half (&f)[2][4], int c, Half (&cols)[8]) {
  cols[c] = __builtin_shufflevector(f[0][c], f[1][c], 0, 1, 2, 3, 8, 9, 10, 11);
  cols[c + 4] =
      __builtin_shufflevector(f[0][c], f[1][c], 4, 5, 6, 7, 12, 13, 14, 15);
}
LTC_INLINED void exchangeFours(const Wide (&f)[4][4], int c, Wide (&cols)[16]) {
  Wide even[] = {evenFours(f[0][c], f[1][c]), evenFours(f[2][c], f[3][c])},
       odd[] = {oddFours(f[0][c], f[1][c]), oddFours(f[2][c], f[3][c])};
  cols[c] = evenFours(even[0], even[1]);
  cols[c + 4] = evenFours(odd[0], odd[1]);
  cols[c + 8] = oddFours(even[0], even[1]);
  cols[c + 12] = oddFours(odd[0], odd[1]);
}

template <int lanes>
LTC_INLINED void turnBlock(const Turned &of, int64_t row, int64_t col) {
  using Vector = Floats<lanes>;
  const float *from = of.from + row * of.fromStride + col;
  float *to = of.to + col * of.toStride + row;
  typename Vector::Register fours[lanes / 4][4], cols[lanes];
#pragma GCC unroll 4
  for (int g = 0; g < lanes / 4; ++g) {
    auto rowOf = [&](int r) LTC_INLINED {
      return Vector::load(from + (4 * g + r) * of.fromStride).values;
    };
    auto first = firstTwo(rowOf(0), rowOf(1)),
         last = lastTwo(rowOf(0), rowOf(1)),
         below = firstTwo(rowOf(2), rowOf(3)),
         lastBelow = lastTwo(rowOf(2), rowOf(3));
    fours[g][0] = firstPairs(first, below);
    fours[g][1] = lastPairs(first, below);
    fours[g][2] = firstPairs(last, lastBelow);
    fours[g][3] = lastPairs(last, lastBelow);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c)
    exchangeFours(fours, c, cols);
#pragma GCC unroll 16
  for (int c = 0; c < lanes; ++c)
    Vector{cols[c]}.store(to + c * of.toStride);
}

/// At least a block. The last ones do some of those before again.
template <int lanes> LTC_INLINED void turnBlocks(const Turned &of) {
  // Squares of whole lines, which stay in the first-level cache.
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < of.rows; row += kSide)
    for (int64_t col = 0; col < of.cols; col += kSide)
      for (int64_t r = row; r < std::min(row + kSide, of.rows); r += lanes)
        for (int64_t c = col; c < std::min(col + kSide, of.cols); c += lanes)
          turnBlock<lanes>(of, std::min(r, of.rows - lanes),
                           std::min(c, of.cols - lanes));
}

} // namespace

void transpose(int64_t rows, int64_t cols, const float *from,
               int64_t fromStride, float *to, int64_t toStride) {
  const Turned of{rows, cols, from, fromStride, to, toStride};
  int64_t side = std::min(rows, cols);
  if (side >= 16 && hasWideVectors())
    return withWideVectors([&](auto) LTC_INLINED { turnBlocks<16>(of); });
  if (side >= 8 && hasVectors())
    return withHalfVectors([&](auto) LTC_INLINED { turnBlocks<8>(of); });
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = 0; r < rows; ++r)
      to[c * toStride + r] = from[r * fromStride + c];
}

} // namespace ltc::kernels
