//===- writes/custom_write.h - Custom ops that write ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph holds no writes. A custom op that writes to its arguments gets a twin
// that writes to copies of them, and returns these after the op's own results.
// The twin is recorded, and the arguments are given their new values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace ltc::backend {

/// Defines the op's twin; returns the kernel that records it for lazy tensors,
/// for the Functionalize key. One thread at a time. None if the op does not
/// write, writes to a list of tensors, or returns views: PyTorch's own kernel
/// then refuses it by name.
std::optional<c10::KernelFunction> writingKernel(const c10::OperatorHandle &op);

} // namespace ltc::backend
