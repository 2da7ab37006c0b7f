//===- record/size_rules.h - Result shapes by formulas ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of common ops that do much work, that PyTorch has no meta kernel in C++ for,
// and whose results have sizes of their own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// Meta tensors like the results of a call. nullopt if there is no formula for
/// the op, or if its kernel may refuse the call.
std::optional<torch::jit::Stack>
inferBySizeRule(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);

} // namespace ltc::backend
