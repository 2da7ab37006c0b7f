//===- recurrent_steps.cpp - A recurrence, cut into tiles -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "recurrent_steps.h"

namespace ltc::kernels {

/// The first row of each time, and their number.
static std::vector<int64_t> offsetsOf(const TensorView &output,
                                      const TensorView &batchSizes) {
  std::vector<int64_t> offsets{0};
  if (batchSizes.isDefined()) {
    for (int64_t i = 0; i < batchSizes.elements(); ++i)
      offsets.push_back(offsets.back() + batchSizes.as<int64_t>()[i]);
  } else {
    for (int64_t i = 0; i < output.size(0); ++i)
      offsets.push_back(offsets.back() + output.size(1));
  }
  return offsets;
}

RecurrentSteps::RecurrentSteps(const TensorView &output,
                               const TensorView &batchSizes, bool reverse)
    : offsets(offsetsOf(output, batchSizes)), times(offsets.size() - 1),
      rows(offsets.back()), hidden(output.size(-1)),
      isPacked(batchSizes.isDefined()), reverse(reverse) {}

std::vector<const float *>
RecurrentSteps::allBefore(const float *first, const float *states) const {
  std::vector<const float *> result(rows);
  for (int64_t i = 0; i < times; ++i)
    for (int64_t b = 0; b < batch(i); ++b)
      result[place(i) + b] = before(first, states, i, b);
  return result;
}

} // namespace ltc::kernels
