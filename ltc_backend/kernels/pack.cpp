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

PackedMatrix::PackedMatrix(const GemmOperand &from, int64_t groups)
    : inner(from.rows), groups(groups), cols(from.cols / groups),
      data(panels() * kCols * inner) {
  forRanges(panels(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t group = 0; group < groups; ++group)
        pack(from, 0, group * cols + p * groupCols(), inner, panelWidth(p),
             data.data() + p * kCols * inner + group * groupCols(), kCols);
  });
}

void PackedMatrix::multiply(int64_t panel, const float *a, int64_t rows,
                            int64_t aStride, bool accumulate, float *c,
                            int64_t cStride, const SoonRead &soon) const {
  multiplyBlock(rows, groups > 1 ? kCols : panelWidth(panel), inner,
                {a, aStride, 1}, data.data() + panel * kCols * inner,
                accumulate, c, cStride, soon);
}

} // namespace ltc::backend
