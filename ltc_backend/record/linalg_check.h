//===- record/linalg_check.h - Errors of linear algebra ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Records aten::_linalg_check_errors, which returns nothing that a graph could
/// hold, as a call with a result that nobody reads. The graph that has it fails
/// for a singular matrix, when it runs. `library` is aten's on the Lazy key.
void registerLinalgCheck(torch::Library &library);

} // namespace ltc::backend
