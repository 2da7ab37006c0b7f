//===- plain_product.cpp - Products of any operands -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "product/plain_product.h"

#include "product/gemm.h"
#include "threads/for_ranges.h"
#include "vectors.h"

#include <vector>

namespace ltc::kernels {
namespace {

template <typename T> struct Matrix {
  T *data;
  int64_t rowStride, colStride;

  T &at(int64_t row, int64_t col) const {
    return data[row * rowStride + col * colStride];
  }
};

/// One matrix of a batch; of one that broadcasts, the same again and again.
template <typename T> Matrix<T> matrixAt(const TensorView &t, int64_t batch) {
  auto step = [&](int64_t dim) -> int64_t {
    return t.rank < -dim || t.size(dim) == 1 ? 0 : t.stride(dim);
  };
  return {t.as<T>() + batch * step(-3), step(-2), step(-1)};
}

template <typename T>
void multiplyRow(const PlainProduct &of, const TensorView &c, int64_t batch,
                 int64_t row) {
  auto a = matrixAt<T>(of.a, batch), b = matrixAt<T>(of.b, batch),
       to = matrixAt<T>(c, batch);
  Matrix<T> added{};
  if (of.addend.isDefined())
    added = matrixAt<T>(of.addend, batch);
  for (int64_t col = 0; col < c.size(-1); ++col) {
    double sum = 0;
    for (int64_t k = 0; k < of.a.size(-1); ++k)
      sum += double(a.at(row, k)) * double(b.at(k, col));
    sum *= of.alpha;
    // With beta = 0 a NaN in the addend does not count, as in PyTorch.
    if (added.data && of.beta != 0)
      sum += of.beta * double(added.at(row, col));
    to.at(row, col) = T(sum);
  }
}

template <typename T>
void multiplyAll(const PlainProduct &of, const TensorView &c) {
  int64_t rows = c.size(-2), batches = c.rank == 3 ? c.size(0) : 1;
  forRanges(batches * rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      multiplyRow<T>(of, c, i / rows, i % rows);
  });
}

/// A matrix one of whose strides is 1: itself, or a copy in `room`.
MatrixView byRowsOrColumns(const TensorView &t, int64_t batch,
                           std::vector<float> &room) {
  auto from = matrixAt<float>(t, batch);
  MatrixView matrix{from.data, t.size(-2), t.size(-1), from.rowStride,
                    from.colStride};
  if (gemmCan(matrix))
    return matrix;
  room.resize(t.size(-2) * t.size(-1));
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c)
      room[r * matrix.cols + c] = from.at(r, c);
  return {room.data(), matrix.rows, matrix.cols, matrix.cols, 1};
}

bool tryGemm(const PlainProduct &of, const TensorView &c) {
  bool scales = of.alpha != 1 || (of.addend.isDefined() && of.beta != 1);
  if (!hasVectors() || scales || c.stride(-1) != 1 ||
      c.stride(-2) < c.size(-1) || of.a.size(-1) == 0)
    return false;
  std::vector<float> left, right;
  for (int64_t batch = 0; batch < (c.rank == 3 ? c.size(0) : 1); ++batch) {
    auto to = matrixAt<float>(c, batch);
    MatrixView added{};
    if (of.addend.isDefined()) {
      auto from = matrixAt<float>(of.addend, batch);
      added = {from.data, c.size(-2), c.size(-1), from.rowStride,
               from.colStride};
    }
    gemm(byRowsOrColumns(of.a, batch, left),
         byRowsOrColumns(of.b, batch, right), added, {to.data, c.stride(-2)});
  }
  return true;
}

} // namespace

bool plainProduct(const PlainProduct &of, const TensorView &c) {
  if (c.elements() == 0)
    return true;
  if (c.dtype == DType::F32 && tryGemm(of, c))
    return true;
  if (c.dtype == DType::F32)
    multiplyAll<float>(of, c);
  else if (c.dtype == DType::F64)
    multiplyAll<double>(of, c);
  else
    return false;
  return true;
}

} // namespace ltc::kernels
