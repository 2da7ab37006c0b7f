//===- checks/misleading_meta.h - Where meta kernels err --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's meta kernels say what some other device returns, or leave it open.
// What eager's CPU does is the answer here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// Whether the shapes do not depend on values, but the op has no meta kernel or
/// one that describes what another device returns for these arguments: the
/// CPU's kernel shows them, once for each shape, on zeros.
bool hasMisleadingMeta(const OpInfo &info,
                       c10::ArrayRef<c10::IValue> arguments);

/// Gives results of the few ops whose meta kernels leave strides, or a dtype,
/// to the device those that the CPU's kernels choose.
void correctResults(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments,
                    torch::jit::Stack &results);

} // namespace ltc::backend
