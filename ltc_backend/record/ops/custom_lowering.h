//===- record/ops/custom_lowering.h - Ops that the program lowers ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/lowering.h"

namespace ltc::backend {

/// From now on, calls of `op` are recorded with that text, which the compiler
/// puts in their place. Any thread.
LTC_API void registerLowering(const c10::OperatorHandle &op, LoweringText text);

/// The op has been defined anew, maybe with another schema; its lowering, if
/// there is one, stays, as do kernels that other libraries gave it.
void renewLowering(const c10::OperatorHandle &op);

/// The op has ended: its kernel goes, its lowering waits for one of that name.
void releaseLowering(const c10::OperatorName &name);

} // namespace ltc::backend
