//===- record/stock_call.h - Calls of PyTorch's functionalisation ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// Calls PyTorch's kernel on the Functionalize key, with wrappers like these in
/// the place of those that it makes.
void callStock(const c10::KernelFunction &stock, const c10::OperatorHandle &op,
               c10::DispatchKeySet keys, torch::jit::Stack &stack);
/// Puts that in front of the kernels of ops which have one of their own on the
/// Lazy key and make new tensors. `library` is aten's on the Functionalize key.
void registerWrappers(torch::Library &library);

} // namespace ltc::backend
