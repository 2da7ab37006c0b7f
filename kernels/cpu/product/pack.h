//===- pack.h - Blocks of matrices, copied ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "block_product.h"
#include "matrix_view.h"

#include <algorithm>
#include <memory>

namespace ltc::kernels {

/// Copies `from`, one of whose strides is 1, to rows of `stride` floats at
/// `to`.
void pack(const MatrixView &from, float *to, int64_t stride);

/// The transpose of a matrix whose rows are dense, its rows one after the
/// other. On all threads.
std::unique_ptr<float[]> turnedOver(const MatrixView &matrix);

/// to += addend, of any strides.
void add(const MatrixView &addend, Rows<float> to);

/// [begin, end) of a dimension.
struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// The right side of products: panels of kPanelCols columns, each with its rows
/// one after the other, in memory of the caller's.
struct Panels {
  float *data;
  int64_t rows, cols;

  /// The floats that `rows` x `cols` need.
  static int64_t roomFor(int64_t rows, int64_t cols) {
    return rows * roundUp(cols, kPanelCols);
  }
  int64_t count() const { return ceilDiv(cols, kPanelCols); }
  int64_t lines() const { return count() * rows * (kPanelCols / kLineFloats); }
  int64_t width(int64_t panel) const {
    return std::min(kPanelCols, cols - panel * kPanelCols);
  }
  float *at(int64_t panel, int64_t row) const {
    return data + (panel * rows + row) * kPanelCols;
  }

  /// Copies a panel of `from`, which has as many rows and columns.
  void pack(const MatrixView &from, int64_t panel) const;
  /// The same past the caches, from memory of a panel's alignment. Only with
  /// hasVectors().
  void stream(const MatrixView &from, int64_t panel) const;

  /// Takes its sizes from a matrix that there is room for, and all its panels.
  void fill(const MatrixView &from);

  /// c = a b, or c += a b, by multiplyPanel(); of `b`, the panels, rows `depth`
  /// and columns `span`, which begin at a whole vector and are those of
  /// `c` too. On the calling thread.
  void multiply(Rows<const float> a, int64_t aRows, Span depth, Span span,
                bool accumulate, Rows<float> c) const;
};

} // namespace ltc::kernels
