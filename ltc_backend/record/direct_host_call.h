//===- record/direct_host_call.h - The host's calls, directly ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// Makes a call that no graph can hold (fallback.h) on the values in the
/// wrappers, and wraps its results, as functionalisation would at twice the
/// cost. Only where that is known of the op, or has shown itself in an equal
/// call. The arguments on the stack give way to the results. False: only the
/// long way can, and nothing has been done.
bool callHostDirectly(const OpInfo &info, torch::jit::Stack &stack);

} // namespace ltc::backend
