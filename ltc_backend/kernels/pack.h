//===- pack.h - Blocks of matrices, copied ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "block_product.h"
#include "gemm.h"

#include <algorithm>
#include <memory>

namespace ltc::backend {

/// Copies the block of `from` whose first element is (row, col) to rows of
/// `stride` floats at `to`.
void pack(const GemmOperand &from, int64_t row, int64_t col, int64_t rows,
          int64_t cols, float *to, int64_t stride);

/// The right side of many products, cut into panels of kCols columns. The
/// columns, or the rows, of `from` may be `groups` things in turn: then a
/// panel, or each kCols rows of it, have as many of each, side by side, and
/// zeros where there are no more.
class PackedMatrix {
public:
  static constexpr int64_t kCols = kBlockCols;
  struct Groups {
    int64_t cols = 1, rows = 1;
  };

  /// Whether this processor can multiply by one.
  LTC_API static bool isSupported();

  PackedMatrix(const GemmOperand &from, const Groups &groups);

  /// How many columns of each group a panel has room for, and how many it has.
  int64_t groupCols() const { return kCols / groups.cols; }
  int64_t panelWidth(int64_t panel) const {
    return std::min(groupCols(), cols - panel * groupCols());
  }
  int64_t panels() const { return (cols + groupCols() - 1) / groupCols(); }
  /// c = a times a panel, or c += it; `a` has as many rows as `c` and as many
  /// columns as a panel has rows, `c` all columns of the panel, or those of the
  /// only group. Brings `soon` near meanwhile. On the calling thread.
  void multiply(int64_t panel, const BlockLeft &a, int64_t rows,
                bool accumulate, float *c, int64_t cStride,
                SoonRead soon = {}) const;

private:
  void packPanel(const GemmOperand &from, int64_t panel);
  int64_t inner() const { return blocks * taken * groups.rows; }

  const Groups groups;
  const int64_t cols, groupRows; ///< of a group
  const int64_t taken, blocks;   ///< rows of a group in turn, and how often
  const std::unique_ptr<float[]> data;
};

} // namespace ltc::backend
