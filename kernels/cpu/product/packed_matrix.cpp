//===- packed_matrix.cpp - A weight packed for many products --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "packed_matrix.h"

#include "pack.h"
#include "threads/for_ranges.h"

namespace ltc::kernels {

PackedMatrix::PackedMatrix(const MatrixView &from, const Groups &groups)
    : groups(groups), cols(from.cols / groups.cols),
      groupRows(from.rows / groups.rows),
      taken(groups.rows == 1 ? groupRows : kPanelCols / groups.rows),
      blocks(ceilDiv(groupRows, taken)),
      data(std::make_unique_for_overwrite<float[]>(panels() * kPanelCols *
                                                   inner())) {
  forRanges(panels(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      packPanel(from, p);
  });
}

void PackedMatrix::packPanel(const MatrixView &from, int64_t panel) {
  float *to = data.get() + panel * kPanelCols * inner();
  int64_t col = panel * groupCols(), width = panelWidth(panel);
  if (width < groupCols() || groupRows % taken != 0)
    std::fill_n(to, kPanelCols * inner(), 0.0f);
  for (int64_t row = 0; row < groupRows; row += taken)
    for (int64_t rowGroup = 0; rowGroup < groups.rows; ++rowGroup) {
      int64_t first = rowGroup * groupRows + row;
      int64_t rows = std::min(taken, groupRows - row);
      for (int64_t group = 0; group < groups.cols; ++group)
        pack(from.block(first, group * cols + col, rows, width),
             to + group * groupCols(), kPanelCols);
      to += taken * kPanelCols;
    }
}

void PackedMatrix::multiply(int64_t panel, const BlockLeft &a, int64_t rows,
                            bool accumulate, Rows<float> c,
                            Prefetch prefetch) const {
  // Sums of fewer terms lose fewer digits.
  constexpr int64_t kPieces = 4;
  BlockProduct product{.rows = rows,
                       .cols = groups.cols > 1 ? kPanelCols : panelWidth(panel),
                       .depth = inner() / a.pieces,
                       .a = a,
                       .b = data.get() + panel * kPanelCols * inner(),
                       .accumulate = accumulate,
                       .c = c,
                       .prefetch = prefetch};
  for (int64_t piece = 0; piece < a.pieces; piece += kPieces) {
    product.a.pieces = std::min(kPieces, a.pieces - piece);
    multiplyBlock(product);
    int64_t depth = product.a.pieces * product.depth;
    product.a.data += product.a.pieces * a.pieceStride;
    product.b += depth * kPanelCols;
    product.prefetch.data += depth * prefetch.stride;
    product.accumulate = true;
  }
}

} // namespace ltc::kernels
