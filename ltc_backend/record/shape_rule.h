//===- record/shape_rule.h - Result shapes of calls -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Result shapes from PyTorch's meta kernels. Returns null,
/// with the reason, if the op has no shape before it runs. Throws what the
/// meta kernel throws: PyTorch's own words about wrong shapes.
std::shared_ptr<CallShape> inferCall(const OpInfo &info,
                                     c10::ArrayRef<c10::IValue> arguments,
                                     std::string &reason);

} // namespace ltc::backend
