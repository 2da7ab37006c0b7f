//===- running_sums.h - cumsum() down columns -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen goes down one column after the other, an element of each cache line at a
// time. Here many columns go down side by side, with ATen's own bits: it adds
// f32 in f64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Writes cumsum(x, dim), or says that ATen should.
bool tryRunningSums(const at::Tensor &x, int64_t dim, const at::Tensor &sums);

} // namespace ltc::backend
