//===- checks/factory_check.h - What the CPU's factories refuse -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Throws what the CPU's kernel says of a call that makes a tensor of numbers
/// and a dtype, randperm() and the like: meta kernels look at neither. A call
/// of another kind passes.
void checkFactory(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);

} // namespace ltc::backend
