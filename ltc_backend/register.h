//===- register.h - What PyTorch is given -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <functional>
#include <string>

namespace ltc::backend {

/// Puts every kernel on the Lazy dispatch key. Call once. `dropFallback`, if
/// any, takes away the fallback that the key has had so far.
void registerKernels(const std::function<void()> &dropFallback);

/// Keeps the op's present kernel on the Lazy key for ever. One in Python may be
/// taken away while a thread that is inside it waits for the interpreter. From
/// one thread at a time.
LTC_API void keepKernel(const std::string &op, const std::string &overload);

} // namespace ltc::backend
