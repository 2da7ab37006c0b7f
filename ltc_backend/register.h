//===- register.h - The recorder's kernels ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>

namespace ltc::backend {

/// Puts every kernel on the Lazy dispatch key. Call once. `dropFallback`, if
/// any, takes away the fallback that the key has had so far.
void registerKernels(const std::function<void()> &dropFallback);

} // namespace ltc::backend
