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

} // namespace ltc::backend
