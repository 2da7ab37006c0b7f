//===- running_sums.cpp - cumsum() down columns -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen goes down one column after the other, an element of each cache line at a
// time. Here many columns go down side by side, with ATen's own bits: it adds
// f32 in f64.
//
//===----------------------------------------------------------------------===//
#include "rows.h"
#include "threads/for_ranges.h"
#include "vector_functions.h"

#include <algorithm>
#include <array>

namespace ltc::kernels {
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

class RunningSums final : public OwnKernel {
public:
  explicit RunningSums(const Arguments &of)
      : argument(of.tensor("self")), dim(of.integer("dim")) {}

  bool run(Views operands, Views results) override {
    TensorView x = argument.in(operands), sums = results[0];
    if (x.rank == 0 || x.dtype != DType::F32 || sums.dtype != DType::F32 ||
        !x.isDense() || !sums.isDense() || x.elements() == 0)
      return false;
    size_t along = size_t(dim < 0 ? dim + x.rank : dim);
    int64_t rows = x.size(along),
            columns = elementsOf(x.shape().subspan(along + 1));
    if (columns < kFewestColumns)
      return false;
    addUp(x, rows, columns, sums);
    return true;
  }

private:
  static void addUp(const TensorView &x, int64_t rows, int64_t columns,
                    const TensorView &sums) {
    const float *from = x.as<float>();
    float *to = sums.as<float>();
    int64_t blocks = ceilDiv(columns, kColumns);
    int64_t matrices = x.elements() / (rows * columns);
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
  }

  const Operand argument;
  const int64_t dim;
};

} // namespace

std::unique_ptr<OwnKernel> bindRunningSums(const Graph &call) {
  return bindAs<RunningSums>(call);
}

} // namespace ltc::kernels
