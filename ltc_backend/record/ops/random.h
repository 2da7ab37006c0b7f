//===- record/ops/random.h - The numbers of random ops ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// Whether random ops draw the numbers that eager would.
bool isRngEager();
/// Throws what eager says of the numbers that a random op is given,
/// such as a standard deviation below zero. `key` is the call's.
void checkNumbers(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments,
                  Hash128 key, const OpNode::Operands &operands);
/// Whether the numbers that are operands have passed that before.
/// Others are part of the key, and have if the call has been met.
bool havePassed(const OpInfo &info, Hash128 key,
                const OpNode::Operands &operands);

} // namespace ltc::backend
