//===- pack.cpp - Blocks of matrices, copied ------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pack.h"

#include "for_ranges.h"

#include <fbgemm/Utils.h>

#include <cstring>

namespace ltc::backend {

void pack(const GemmOperand &from, int64_t row, int64_t col, int64_t rows,
          int64_t cols, float *to, int64_t stride) {
  const float *data = from.data + row * from.rowStride + col * from.colStride;
  if (from.colStride != 1)
    return fbgemm::transpose_simd<float>(cols, rows, data, from.colStride, to,
                                         stride);
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * stride, data + r * from.rowStride,
                cols * sizeof(float));
}

bool PackedMatrix::isSupported() {
#if defined(__x86_64__)
  static const bool answer = [] {
    __builtin_cpu_init();
    return bool(__builtin_cpu_supports("avx512f"));
  }();
  return answer;
#else
  return false;
#endif
}

PackedMatrix::PackedMatrix(const GemmOperand &from, const Groups &groups)
    : groups(groups), cols(from.cols / groups.cols),
      groupRows(from.rows / groups.rows),
      taken(groups.rows == 1 ? groupRows : kCols / groups.rows),
      blocks((groupRows + taken - 1) / taken),
      data(
          std::make_unique_for_overwrite<float[]>(panels() * kCols * inner())) {
  forRanges(panels(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      packPanel(from, p);
  });
}

void PackedMatrix::packPanel(const GemmOperand &from, int64_t panel) {
  float *to = data.get() + panel * kCols * inner();
  if (panelWidth(panel) < groupCols() || groupRows % taken != 0)
    std::fill_n(to, kCols * inner(), 0.0f);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t rowGroup = 0; rowGroup < groups.rows; ++rowGroup) {
      int64_t row = block * taken, rows = std::min(taken, groupRows - row);
      for (int64_t group = 0; group < groups.cols; ++group)
        pack(from, rowGroup * groupRows + row,
             group * cols + panel * groupCols(), rows, panelWidth(panel),
             to + group * groupCols(), kCols);
      to += taken * kCols;
    }
}

void PackedMatrix::multiply(int64_t panel, const BlockLeft &a, int64_t rows,
                            bool accumulate, float *c, int64_t cStride,
                            SoonRead soon) const {
  // Sums of fewer terms lose fewer digits.
  constexpr int64_t kPieces = 4;
  int64_t cols = groups.cols > 1 ? kCols : panelWidth(panel);
  int64_t depth = inner() / a.pieces;
  const float *b = data.get() + panel * kCols * inner();
  for (int64_t piece = 0; piece < a.pieces; piece += kPieces) {
    BlockLeft part = a;
    part.data += piece * a.pieceStride;
    part.pieces = std::min(kPieces, a.pieces - piece);
    multiplyBlock(rows, cols, depth, part, b, accumulate || piece > 0, c,
                  cStride, soon);
    b += part.pieces * depth * kCols;
    soon.data += part.pieces * depth * soon.stride;
  }
}

} // namespace ltc::backend
