//===- attention_heads.h - The matrices of one head -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is computed in float32. Rows of float32 are read and written where
// they lie; bfloat16, which has no products of its own here, is widened into
// scratch by the chunk, and what is summed there rounded once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "product/matrix_view.h"

namespace ltc::kernels {

/// What a tensor (batch, heads, rows, width) holds of one head: float32 or
/// bfloat16, the elements of a row next to each other.
class HeadRows {
public:
  HeadRows(const TensorView &tensor, int64_t batch, int64_t head);

  /// The floats of scratch that a chunk of `count` rows needs.
  int64_t roomFor(int64_t count) const { return isShort ? count * width : 0; }
  /// Rows from `first`.
  Rows<const float> read(int64_t first, int64_t count, float *room) const;
  /// Where to make rows from `first`, which finish() then puts in place.
  Rows<float> begin(int64_t first, float *room) const;
  void finish(int64_t first, int64_t count, Rows<float> made) const;

private:
  char *row(int64_t r) const { return data + r * stride * size; }

  char *data;
  int64_t stride, width, size; ///< of an element, in bytes
  bool isShort;
};

} // namespace ltc::kernels
