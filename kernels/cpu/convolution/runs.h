//===- runs.h - Sums and products of rows of floats -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For processors with hasVectors(). A run is some floats that stand
// anywhere; what is read and written of it is a multiple of kRunStep.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "product/pack.h"

#include <cstdint>
#include <vector>

namespace ltc::kernels {

/// Floats that are computed at a time.
inline constexpr int64_t kRunStep = 4 * kLineFloats;

/// first + the sum of factors[t] runs[t], a factor for each run.
struct RunSum {
  const float *factors;
  float first;
  float *to;
};

/// Computes `sums`, of `count` floats each.
void addRuns(const std::vector<const float *> &runs,
             const std::vector<RunSum> &sums, int64_t count);

/// to[k * stride + t] = the products of by[k] and runs[t], added up.
void multiplyRuns(const std::vector<const float *> &runs,
                  const std::vector<const float *> &by, int64_t count,
                  float *to, int64_t stride);

} // namespace ltc::kernels
