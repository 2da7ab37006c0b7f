//===- ops/zeros_like.h - State that begins as zeros ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Where no gradients are recorded, zeros_like() of a parameter is memory at
/// once: an optimizer's averages. Recorded, it would make the first step
/// another graph than those that follow, to be compiled while the first one
/// runs. `library` is aten's on the Functionalize key, after the recorder's
/// kernels.
void registerOptimizerState(torch::Library &library);

} // namespace ltc::backend
