//===- concatenate.h - cat() of tensors in one piece ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Writes cat(parts, dim), or says that ATen should: of tensors that are not
/// contiguous, or not of one dtype and rank. Does not leave a parallel region.
bool tryConcatenate(const c10::List<at::Tensor> &parts, int64_t dim,
                    const at::Tensor &whole);

} // namespace ltc::backend
