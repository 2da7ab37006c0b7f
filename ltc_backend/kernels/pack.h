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
#include <vector>

namespace ltc::backend {

/// Copies the block of `from` whose first element is (row, col) to rows of
/// `stride` floats at `to`.
void pack(const GemmOperand &from, int64_t row, int64_t col, int64_t rows,
          int64_t cols, float *to, int64_t stride);

/// The right side of many products, cut into panels of kCols columns. Of a
/// matrix whose columns are `groups` things in turn, a panel has as many
/// columns of each, side by side, and zeros where there are no more.
class PackedMatrix {
public:
  static constexpr int64_t kCols = kBlockCols;

  /// Whether this processor can multiply by one.
  LTC_API static bool isSupported();

  explicit PackedMatrix(const GemmOperand &from, int64_t groups = 1);

  /// How many columns of each group a panel has room for, and how many it has.
  int64_t groupCols() const { return kCols / groups; }
  int64_t panelWidth(int64_t panel) const {
    return std::min(groupCols(), cols - panel * groupCols());
  }
  int64_t panels() const { return (cols + groupCols() - 1) / groupCols(); }
  /// c = a times a panel, or c += it; `a` has as many rows as `c` and the inner
  /// dimension as columns, `c` all columns of the panel, or those of the only
  /// group. Brings `soon` near meanwhile. On the calling thread.
  void multiply(int64_t panel, const float *a, int64_t rows, int64_t aStride,
                bool accumulate, float *c, int64_t cStride,
                const SoonRead &soon = {}) const;

private:
  int64_t inner, groups;
  int64_t cols; ///< of a group
  std::vector<float> data;
};

} // namespace ltc::backend
