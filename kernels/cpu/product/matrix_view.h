//===- matrix_view.h - Matrices in memory of others -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc::kernels {

/// `rows` x `cols` floats, element (r, c) at at(r, c).
struct MatrixView {
  const float *data;
  int64_t rows, cols, rowStride, colStride;

  const float *at(int64_t row, int64_t col) const {
    return data + row * rowStride + col * colStride;
  }
  MatrixView transposed() const {
    return {data, cols, rows, colStride, rowStride};
  }
  /// The part whose first element is (row, col).
  MatrixView block(int64_t row, int64_t col, int64_t blockRows,
                   int64_t blockCols) const {
    return {at(row, col), blockRows, blockCols, rowStride, colStride};
  }
};

/// Rows whose elements are next to each other, row r at row(r).
template <typename T> struct Rows {
  T *data;
  int64_t stride;

  T *row(int64_t r) const { return data + r * stride; }
};

} // namespace ltc::kernels
