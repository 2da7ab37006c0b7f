//===- checks/fatal_call.h - Calls that end eager's process -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Throws for calls in which the CPU's kernel divides an integer by zero or
/// reads what is not there, so that it must not be asked either.
void refuseFatalCall(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);

} // namespace ltc::backend
