//===- pack.cpp - Blocks of matrices, copied ------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pack.h"

#include "product/lent_blocks.h"
#include "product/transpose.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::kernels {

namespace {

#if defined(__x86_64__)
LTC_AVX512 inline void stream(const Floats<16> &value, float *to) {
  _mm512_stream_ps(to, value.values);
}
LTC_AVX2 inline void stream(const Floats<8> &value, float *to) {
  _mm256_stream_ps(to, value.values);
}
/// What was streamed is in memory before what the thread writes next.
void endStreams() { _mm_sfence(); }
#else
template <int lanes> void stream(const Floats<lanes> &value, float *to) {
  value.store(to);
}
void endStreams() {}
#endif

/// A line at a time, without reading what was there.
void streamRow(const float *from, float *to) {
  withVectors([&](auto lanes) LTC_INLINED {
    for (int64_t i = 0; i < kPanelCols; i += lanes)
      stream(Floats<lanes>::load(from + i), to + i);
  });
}

} // namespace

void pack(const MatrixView &from, float *to, int64_t stride) {
  if (from.colStride != 1)
    return transpose(from.cols, from.rows, from.data, from.colStride, to,
                     stride);
  for (int64_t r = 0; r < from.rows; ++r)
    std::memcpy(to + r * stride, from.at(r, 0), from.cols * sizeof(float));
}

std::unique_ptr<float[]> turnedOver(const MatrixView &matrix) {
  constexpr int64_t kRows = 64;
  MatrixView from = matrix.transposed();
  std::unique_ptr<float[]> result(new float[from.rows * from.cols]);
  forRanges(ceilDiv(from.rows, kRows), [&](int64_t begin, int64_t end) {
    int64_t row = begin * kRows;
    int64_t rows = std::min(from.rows, end * kRows) - row;
    pack(from.block(row, 0, rows, from.cols), result.get() + row * from.cols,
         from.cols);
  });
  return result;
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
  kernels::pack(from.block(0, panel * kPanelCols, rows, width(panel)),
                at(panel, 0), kPanelCols);
}

void Panels::stream(const MatrixView &from, int64_t panel) const {
  // Stores like these wait for each other, unless there are loads in between.
  constexpr int64_t kRows = 16;
  alignas(64) float near[kRows * kPanelCols] = {};
  bool isRowMajor = from.colStride == 1 && width(panel) == kPanelCols;
  for (int64_t row = 0; row < rows; row += kRows) {
    int64_t count = std::min(kRows, rows - row);
    MatrixView some = from.block(row, panel * kPanelCols, count, width(panel));
    if (!isRowMajor)
      kernels::pack(some, near, kPanelCols);
    for (int64_t r = 0; r < count; ++r)
      streamRow(isRowMajor ? some.at(r, 0) : near + r * kPanelCols,
                at(panel, row + r));
  }
  endStreams();
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
    multiplyPanel(a, aRows, depth.size(),
                  at(panel, depth.begin) + col % kPanelCols, next - col,
                  accumulate, {c.data + col, c.stride});
  }
}

} // namespace ltc::kernels
