//===- recurrent_steps.cpp - A recurrence, cut into tiles -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "recurrent_steps.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

/// The first row of each time, and their number.
static std::vector<int64_t> offsetsOf(const Tensor &output,
                                      const Tensor &batchSizes) {
  std::vector<int64_t> offsets{0};
  if (batchSizes.defined()) {
    Tensor dense = batchSizes.contiguous();
    const int64_t *sizes = dense.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < dense.numel(); ++i)
      offsets.push_back(offsets.back() + sizes[i]);
    TORCH_CHECK(offsets.back() == output.size(0), "batch_sizes are of ",
                offsets.back(), " rows, not of ", output.size(0));
  } else {
    for (int64_t i = 0; i < output.size(0); ++i)
      offsets.push_back(offsets.back() + output.size(1));
  }
  return offsets;
}

RecurrentSteps::RecurrentSteps(const Tensor &output, const Tensor &batchSizes,
                               bool reverse)
    : offsets(offsetsOf(output, batchSizes)), times(offsets.size() - 1),
      rows(offsets.back()), hidden(output.size(-1)),
      isPacked(batchSizes.defined()), reverse(reverse) {}

std::vector<const float *>
RecurrentSteps::allBefore(const float *first, const float *states) const {
  std::vector<const float *> result(rows);
  for (int64_t i = 0; i < times; ++i)
    for (int64_t b = 0; b < batch(i); ++b)
      result[place(i) + b] = before(first, states, i, b);
  return result;
}

} // namespace ltc::backend
