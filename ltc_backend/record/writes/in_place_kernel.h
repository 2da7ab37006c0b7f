//===- in_place_kernel.h - In-place ops, with eager's checks ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Takes over functionalisation of the in-place ops that have a functional
/// twin, for lazy tensors: PyTorch's own kernels give `self` the twin's shape
/// and dtype without a word, unless they first run a Python meta kernel, which
/// costs 14 us. `library` is aten's on the Functionalize key.
void registerInPlaceOps(torch::Library &library);

} // namespace ltc::backend
