//===- attention_heads.cpp - The matrices of one head ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attention_heads.h"

#include "bfloat16_rows.h"

namespace ltc::kernels {

HeadRows::HeadRows(const TensorView &tensor, int64_t batch, int64_t head)
    : stride(tensor.stride(2)), width(tensor.size(3)),
      size(int64_t(byteSize(tensor.dtype))),
      isShort(tensor.dtype == DType::BF16) {
  data = tensor.as<char>() +
         (batch * tensor.stride(0) + head * tensor.stride(1)) * size;
}

Rows<const float> HeadRows::read(int64_t first, int64_t count,
                                 float *room) const {
  if (!isShort)
    return {reinterpret_cast<const float *>(row(first)), stride};
  for (int64_t r = 0; r < count; ++r)
    widenRow(width, reinterpret_cast<const uint16_t *>(row(first + r)),
             room + r * width);
  return {room, width};
}

Rows<float> HeadRows::begin(int64_t first, float *room) const {
  if (!isShort)
    return {reinterpret_cast<float *>(row(first)), stride};
  return {room, width};
}

void HeadRows::finish(int64_t first, int64_t count, Rows<float> made) const {
  if (!isShort)
    return;
  for (int64_t r = 0; r < count; ++r)
    roundRow(width, made.row(r), reinterpret_cast<uint16_t *>(row(first + r)));
}

} // namespace ltc::kernels
