//===- ops/custom_op.h - Ops that the user's program defines ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation hands an op of another library to its kernel unwrapped, as
// if it were one call to record. A kernel that is composed of PyTorch ops has
// to see wrapped tensors instead: then its views alias, and its ops are
// recorded one by one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

namespace ltc::backend {

/// Watches for ops outside aten from now on.
void watchCustomOps();

/// Gives those that were defined since the last call their kernels.
LTC_API void adoptCustomOps();

/// Lets go of the kernels of ops that have ended. The dispatcher keeps an op's
/// entry while anybody has a kernel there, and with it Python's object for the
/// op, which has ended too: another op by that name would be called with it.
LTC_API void releaseEndedOps();

/// Told that ops have ended, with the dispatcher's lock held: has
/// releaseEndedOps() called soon, before the program can define others.
LTC_API void setEndedOpsHook(void (*hook)());

} // namespace ltc::backend
