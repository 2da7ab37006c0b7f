//===- tensor_view.h - Tensors in memory of others --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

#include <cstdint>
#include <span>

namespace ltc::kernels {

/// Of a result, too: constant is the view, not the memory.
using TensorView = KernelView;
using Sizes = std::span<const int64_t>;

inline int64_t elementsOf(Sizes sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

constexpr int64_t ceilDiv(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}
constexpr int64_t roundUp(int64_t count, int64_t to) {
  return ceilDiv(count, to) * to;
}

} // namespace ltc::kernels
