//===- ops/fused_step.h - Steps of optimizers that are one op ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <torch/library.h>

namespace ltc::backend {

/// Takes over functionalisation of `_fused_adam_` and its like, which update
/// lists of tensors: PyTorch's kernels give all of these a new value, the
/// gradients too, and know no list that is empty. `library` is aten's on the
/// Functionalize key.
void registerFusedSteps(torch::Library &library);

/// Whether these are of one lazy device and of one dtype, in which eager's loop
/// over parameters rounds as its fused steps do: not to 16 bits between ops.
LTC_API bool areAlike(const std::vector<at::Tensor> &parameters);

/// Adds one to each. On the host that takes next to nothing; torch's op takes
/// 1.5 us a tensor.
LTC_API void countStep(const std::vector<at::Tensor> &steps);

} // namespace ltc::backend
