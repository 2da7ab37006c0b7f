//===- record/checks/cpu_check.h - What the CPU's kernels refuse ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Throws what eager says of dtypes that its kernel has nothing
/// for, and of what else meta kernels and the compiler's rows would take.
void checkCall(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);
/// Throws if what is to be written into a view has not its size.
void checkSlice(const at::Tensor &slice, const at::Tensor &source);

} // namespace ltc::backend
