//===- checks/linalg_check.h - Errors of linear algebra ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// aten::_linalg_check_errors reads what the factorisation said of its success,
/// and raises at the user's line (linalg_errors=now); or is recorded as a call
/// with a result that nobody reads, and the graph that has it fails when it
/// runs (later). `library` is aten's on the Lazy key.
void registerLinalgCheck(torch::Library &library);

/// Whether the call, of an op named _ex, is to raise as those without do.
bool checksErrors(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);
/// Records such a call as one that returns its errors, and the check of them.
void recordChecked(const OpInfo &info, torch::jit::Stack &stack);

} // namespace ltc::backend
