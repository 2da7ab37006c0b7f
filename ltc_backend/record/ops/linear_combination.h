//===- ops/linear_combination.h - Sums of matrices --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// `_compute_linear_combination(out=)` adds to what `out` holds, where other
/// ops replace it. `library` is aten's on the Functionalize key.
void registerLinearCombination(torch::Library &library);

} // namespace ltc::backend
