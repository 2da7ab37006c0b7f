//===- attention.cpp - What our kernels of attention are for --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attention.h"

#include "attention_rows.h"
#include "vectors.h"

#include <array>

namespace ltc::kernels {

namespace {

bool isRegular(const TensorView &t, const TensorView &like) {
  return t.rank == 4 && t.dtype == like.dtype && t.stride(3) == 1 &&
         t.stride(2) >= t.size(3) && t.size(0) == like.size(0) &&
         t.size(1) == like.size(1) && t.size(3) == like.size(3);
}

bool isMask(const TensorView &t, const TensorView &query,
            const TensorView &key) {
  if (!t.isDefined())
    return true;
  const std::array<int64_t, 4> whole = {query.size(0), query.size(1),
                                        query.size(2), key.size(2)};
  for (int64_t dim = 0; dim < 3; ++dim)
    if (t.rank != 4 || (t.size(dim) != 1 && t.size(dim) != whole[dim]))
      return false;
  return t.dtype == query.dtype && t.size(3) == whole[3] && t.stride(3) == 1;
}

bool areFew(const TensorView &query, const TensorView &key) {
  return query.size(2) > 0 && query.size(2) < kFewQueries && key.size(2) > 0;
}

} // namespace

bool attentionPays(const TensorView &query, const TensorView &key,
                   const TensorView &value, const TensorView &mask) {
  constexpr int64_t kWidest = 256;
  DType type = query.dtype;
  return hasVectors() && (type == DType::F32 || type == DType::BF16) &&
         query.rank == 4 && isRegular(query, query) && isRegular(key, query) &&
         isRegular(value, query) && key.size(2) == value.size(2) &&
         (areFew(query, key) || attentionBackwardPays(query, key)) &&
         query.size(3) >= kAttentionLanes && query.size(3) <= kWidest &&
         isMask(mask, query, key);
}

bool attentionBackwardPays(const TensorView &query, const TensorView &key) {
  // Of shorter ones the calls for each tile are what takes the time.
  constexpr int64_t kLeast = 32;
  return query.size(2) >= kLeast && key.size(2) >= kLeast;
}

} // namespace ltc::kernels
