//===- ops/batch_norm.h - The one op that writes without saying so --------===//
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

/// The kernel of aten::native_batch_norm on the Lazy dispatch key.
void batchNorm(const c10::OperatorHandle &op, torch::jit::Stack *stack);

/// What records calls met before. `library` is aten's on the Functionalize key,
/// where the op has its wrapper already.
void registerDirectBatchNorm(torch::Library &library);

} // namespace ltc::backend
