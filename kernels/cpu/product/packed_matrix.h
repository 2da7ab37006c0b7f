//===- packed_matrix.h - A weight packed for many products ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "block_product.h"

#include <algorithm>
#include <memory>

namespace ltc::kernels {

/// The right side of many products, cut into panels of kPanelCols columns. The
/// columns, or the rows, of `from` may be `groups` things in turn: then a
/// panel, or each kPanelCols rows of it, have as many of each, side by side,
/// and zeros where there are no more. For processors with hasVectors().
class PackedMatrix {
public:
  struct Groups {
    int64_t cols = 1, rows = 1;
  };

  PackedMatrix(const MatrixView &from, const Groups &groups);

  /// How many columns of each group a panel has room for, and how many it has.
  int64_t groupCols() const { return kPanelCols / groups.cols; }
  int64_t panelWidth(int64_t panel) const {
    return std::min(groupCols(), cols - panel * groupCols());
  }
  int64_t panels() const { return ceilDiv(cols, groupCols()); }
  /// c = a times a panel, or c += it; `a` has as many rows as `c` and as many
  /// columns as a panel has rows, `c` all columns of the panel, or those of the
  /// only group. On the calling thread.
  void multiply(int64_t panel, const BlockLeft &a, int64_t rows,
                bool accumulate, Rows<float> c, Prefetch prefetch = {}) const;

private:
  void packPanel(const MatrixView &from, int64_t panel);
  int64_t inner() const { return blocks * taken * groups.rows; }

  const Groups groups;
  const int64_t cols, groupRows; ///< of a group
  const int64_t taken, blocks;   ///< rows of a group in turn, and how often
  const std::unique_ptr<float[]> data;
};

} // namespace ltc::kernels
