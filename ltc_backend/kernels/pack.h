//===- pack.h - Blocks of matrices, copied ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemm.h"

#include <algorithm>
#include <vector>

namespace ltc::backend {

/// Copies the block of `from` whose first element is (row, col) to rows of
/// `stride` floats at `to`.
void pack(const GemmOperand &from, int64_t row, int64_t col, int64_t rows,
          int64_t cols, float *to, int64_t stride);

/// The right side of many products, cut into panels of kCols columns.
class PackedMatrix {
public:
  static constexpr int64_t kCols = 64;

  /// Whether this processor can multiply by one.
  LTC_API static bool isSupported();

  explicit PackedMatrix(const GemmOperand &from);

  int64_t panels() const { return (cols + kCols - 1) / kCols; }
  int64_t panelWidth(int64_t panel) const {
    return std::min(kCols, cols - panel * kCols);
  }
  /// c = a times a panel, or c += it; `a` has as many rows as `c` and the inner
  /// dimension as columns. On the calling thread.
  void multiply(int64_t panel, const float *a, int64_t rows, int64_t aStride,
                bool accumulate, float *c, int64_t cStride) const;

private:
  int64_t inner, cols;
  std::vector<float> data;
};

} // namespace ltc::backend
