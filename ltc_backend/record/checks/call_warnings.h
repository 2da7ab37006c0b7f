//===- checks/call_warnings.h - What eager's kernels warn of ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recorded call is to warn as eager's does: at the user's line, and not where
// its graph runs. The kernels that warn are asked, once for each kind of call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// What eager's kernel says at each such call. What it says once in a process
/// is said here.
std::vector<c10::Warning> warningsOf(const OpInfo &info,
                                     c10::ArrayRef<c10::IValue> arguments);

/// Says what PyTorch says of a tensor with the dtype of a result.
void warnOfTypes(const CallShape &call);

} // namespace ltc::backend
