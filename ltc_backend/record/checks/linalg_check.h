//===- checks/linalg_check.h - Errors of linear algebra ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// aten::_linalg_check_errors reads what the factorisation said of its success,
/// and raises at the user's line (linalg_errors=now); or is recorded as a call
/// with a result that nobody reads, and the graph that has it fails when it
/// runs (later). `library` is aten's on the Lazy key.
void registerLinalgCheck(torch::Library &library);

} // namespace ltc::backend
