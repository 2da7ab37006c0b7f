//===- record/direct.h - Calls met before, without detours ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation unwraps the tensors of a call, dispatches it once more, and
// wraps what comes back; for an in-place op it also makes a tensor that takes
// the place of the written one's inside. A call that equals an earlier one can
// be recorded from the wrappers at once. Whatever is out of the ordinary (a new
// shape, a view, another device) goes the long way, which handles all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/op_info.h"

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Records the call on the stack, if it can be done directly, and replaces it
/// by its results. False: nothing has been done.
bool recordDirectly(const OpInfo &info, torch::jit::Stack &stack);

/// The same for the in-place form of `twin`, an op of one result: gives the
/// first argument that value, and leaves it on the stack. Only for a tensor
/// that no other shares its storage with.
bool updateDirectly(const OpInfo &twin, torch::jit::Stack &stack);

/// The Functionalize kernel of a recorded op that has none of its own.
struct DirectKernel final : c10::OperatorKernel {
  explicit DirectKernel(const OpInfo &info);
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack);

private:
  const OpInfo &info;
  c10::SafeKernelFunction stock;
};

} // namespace ltc::backend
