//===- ops/linalg_values.h - Values without their vectors -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Singular values and eigenvalues. `library` is aten's on the Functionalize
/// key.
void registerLinalgValues(torch::Library &library);

} // namespace ltc::backend
