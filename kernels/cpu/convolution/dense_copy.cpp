//===- dense_copy.cpp - A row-major tensor of another's values ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution/dense_copy.h"

#include "product/pack.h"
#include "threads/for_ranges.h"

namespace ltc::kernels {
namespace {

/// Whether all dimensions from the third on are as one, in which an element
/// is strides.back() from the next.
bool isPlane(const TensorView &of) {
  for (uint32_t dim = 2; dim + 1 < of.rank; ++dim)
    if (of.strides[dim] != of.strides[dim + 1] * of.sizes[dim + 1])
      return false;
  return of.rank > 2;
}

} // namespace

DenseCopy::DenseCopy(const TensorView &of) : dense(of) {
  if (of.isDense())
    return;
  strides.resize(of.rank);
  int64_t step = 1;
  for (uint32_t dim = of.rank; dim-- > 0; step *= of.sizes[dim])
    strides[dim] = step;
  memory = std::make_unique_for_overwrite<float[]>(step);
  dense.data = memory.get();
  dense.strides = strides.data();
  forRanges(of.size(0), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image)
      copyImage(of, image);
  });
}

void DenseCopy::copyImage(const TensorView &of, int64_t image) const {
  const float *from = of.as<float>() + image * of.strides[0];
  float *to = memory.get() + image * strides[0];
  int64_t plane = strides[1];
  MatrixView matrix{from, of.size(1), plane, of.strides[1], of.stride(-1)};
  if (isPlane(of) && (matrix.rowStride == 1 || matrix.colStride == 1))
    return pack(matrix, to, plane);
  for (int64_t i = 0; i < strides[0]; ++i) {
    int64_t at = 0, rest = i;
    for (uint32_t dim = 1; dim < of.rank; ++dim) {
      at += rest / strides[dim] * of.strides[dim];
      rest %= strides[dim];
    }
    to[i] = from[at];
  }
}

} // namespace ltc::kernels
