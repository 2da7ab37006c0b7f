//===- index_range.cpp - Looks at indices before a write --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/aten/index_range.h"

#include <ATen/ATen.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>

namespace ltc::backend {

template <typename T>
static bool isWithin(const at::Tensor &index, int64_t low, int64_t high) {
  at::Tensor dense = index.contiguous();
  const T *begin = dense.const_data_ptr<T>(), *end = begin + dense.numel();
  T least = 0, most = 0;
  // Without a branch, so that it takes vectors.
  for (const T *each = begin; each != end; ++each) {
    least = std::min(least, *each);
    most = std::max(most, *each);
  }
  return begin == end || (least >= low && most < high);
}

static bool isWithin(const at::Tensor &index, int64_t low, int64_t high) {
  if (index.scalar_type() == at::kLong)
    return isWithin<int64_t>(index, low, high);
  return index.scalar_type() == at::kInt && isWithin<int32_t>(index, low, high);
}

/// Of index_put: masks choose elements, and fail before anything is written.
static bool areWithin(const at::Tensor &self,
                      const c10::List<std::optional<at::Tensor>> &indices) {
  at::IntArrayRef sizes = self.sizes();
  int64_t dim = 0;
  for (const std::optional<at::Tensor> index : indices) {
    if (!index || !index->defined()) {
      ++dim;
    } else if (index->scalar_type() == at::kBool ||
               index->scalar_type() == at::kByte) {
      dim += index->dim();
    } else if (dim >= self.dim() ||
               !isWithin(*index, -sizes[dim], sizes[dim])) {
      return false;
    } else {
      ++dim;
    }
  }
  return true;
}

bool mayBeOutOfRange(std::string_view op,
                     const std::vector<c10::IValue> &arguments) {
  const at::Tensor &self = arguments[0].toTensor();
  if (op == "aten::index_put")
    return !areWithin(self, arguments[1].toOptionalTensorList());
  int64_t dim = c10::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  int64_t size = self.dim() ? self.size(dim) : 1;
  return !isWithin(arguments[2].toTensor(), 0, size);
}

} // namespace ltc::backend
