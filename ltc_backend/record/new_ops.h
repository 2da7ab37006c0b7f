//===- record/new_ops.h - Ops that were just defined ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>

namespace ltc::backend {

/// Gives ops of other libraries their kernels (ops/custom_op.h); null unless
/// some were defined since it ran last. Called before an op is recorded.
inline std::atomic<void (*)()> adoptNewOps{nullptr};

} // namespace ltc::backend
