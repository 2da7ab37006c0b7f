//===- record/small_call.h - Result shapes from small tensors ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// Meta tensors like the results of a call, as the CPU's kernel lays them out.
/// It is called with small tensors, whose sizes compare as those of the
/// arguments do and whose strides have the same order: next to no work. Only
/// for ops each size of whose results is one of an argument's (or at most 3).
/// nullopt where the kernel refuses those.
std::optional<torch::jit::Stack>
inferFromSmall(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);

} // namespace ltc::backend
