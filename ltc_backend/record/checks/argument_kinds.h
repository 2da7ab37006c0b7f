//===- checks/argument_kinds.h - What a kernel chooses by -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that has been asked about dtypes need not be asked again for other
// sizes: what kinds of arguments a call has is what its answer depends on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"
#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

Hash128 kindsOf(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);

bool takesNumbers(const ArgumentInfo &argument);
/// Whether it is the size of the result.
bool isSize(const ArgumentInfo &argument, const c10::IValue &value);

} // namespace ltc::backend
