//===- running_sums.cpp - cumsum() down columns -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "running_sums.h"

#include "for_ranges.h"
#include "vector_functions.h"

#include <algorithm>
#include <array>

namespace ltc::backend {
namespace {

constexpr int64_t kFewestColumns = 16; // else vectors are mostly empty
constexpr int64_t kColumns = 256;      // whose sums stay in the first cache

LTC_FOR_EACH_CPU
void addRow(int64_t count, const float *from, double *sums, float *to) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += double(from[i]);
    to[i] = float(sums[i]);
  }
}

} // namespace

bool tryRunningSums(const at::Tensor &x, int64_t dim, const at::Tensor &sums) {
  if (x.dim() == 0 || x.scalar_type() != at::kFloat ||
      sums.scalar_type() != at::kFloat || !x.is_contiguous() ||
      !sums.is_contiguous())
    return false;
  dim += dim < 0 ? x.dim() : 0;
  int64_t rows = x.size(dim), columns = x.stride(dim);
  if (x.numel() == 0 || columns < kFewestColumns)
    return false;
  const float *from = x.const_data_ptr<float>();
  float *to = sums.mutable_data_ptr<float>();
  int64_t blocks = (columns + kColumns - 1) / kColumns;
  int64_t matrices = x.numel() / (rows * columns);
  forRanges(matrices * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      std::array<double, kColumns> sum{};
      int64_t column = block % blocks * kColumns;
      int64_t at = block / blocks * rows * columns + column;
      int64_t count = std::min(kColumns, columns - column);
      for (int64_t row = 0; row < rows; ++row, at += columns)
        addRow(count, from + at, sum.data(), to + at);
    }
  });
  return true;
}

} // namespace ltc::backend
