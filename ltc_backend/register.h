//===- register.h - The recorder's kernels -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Puts every kernel on the Lazy dispatch key. Call once.
void registerKernels();

} // namespace ltc::backend
