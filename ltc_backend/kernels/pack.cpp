//===- pack.cpp - Blocks of matrices, copied ------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pack.h"

#include <ATen/native/CPUBlas.h>
#include <fbgemm/Utils.h>

#include <cstring>

namespace ltc::backend {

void pack(const MatrixView &from, float *to, int64_t stride) {
  if (from.colStride != 1)
    return fbgemm::transpose_simd<float>(from.cols, from.rows, from.data,
                                         from.colStride, to, stride);
  for (int64_t r = 0; r < from.rows; ++r)
    std::memcpy(to + r * stride, from.at(r, 0), from.cols * sizeof(float));
}

void add(const MatrixView &addend, Rows<float> to) {
  for (int64_t r = 0; r < addend.rows; ++r) {
    const float *from = addend.at(r, 0);
    float *row = to.row(r);
    if (addend.colStride == 1)
      for (int64_t i = 0; i < addend.cols; ++i)
        row[i] += from[i];
    else
      for (int64_t i = 0; i < addend.cols; ++i)
        row[i] += from[i * addend.colStride];
  }
}

void Panels::pack(const MatrixView &from, int64_t panel) const {
  backend::pack(from.block(0, panel * kPanelCols, rows, width(panel)),
                at(panel, 0), kPanelCols);
}

void Panels::fill(const MatrixView &from) {
  rows = from.rows;
  cols = from.cols;
  for (int64_t p = 0; p < count(); ++p)
    pack(from, p);
}

void Panels::multiply(Rows<const float> a, int64_t aRows, Span depth, Span span,
                      bool accumulate, Rows<float> c) const {
  for (int64_t col = span.begin, next; col < span.end; col = next) {
    int64_t panel = col / kPanelCols;
    next = std::min(span.end, (panel + 1) * kPanelCols);
    at::native::cpublas::brgemm(aRows, next - col, depth.size(), a.stride,
                                kPanelCols, c.stride, accumulate, a.data,
                                at(panel, depth.begin) + col % kPanelCols,
                                c.data + col);
  }
}

} // namespace ltc::backend
