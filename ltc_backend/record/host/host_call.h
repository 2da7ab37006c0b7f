//===- host/host_call.h - Calls that the CPU answers ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/map_tensors.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Whether it is a sparse or quantized tensor of a lazy device.
inline bool isNotDense(const at::Tensor &tensor) {
  constexpr c10::DispatchKeySet kinds{c10::DispatchKey::Sparse,
                                      c10::DispatchKey::SparseCsr,
                                      c10::DispatchKey::Quantized};
  return tensor.key_set().has_any(kinds) && tensor.device().is_lazy();
}

/// Calls the op with CPU tensors in the place of lazy ones, of whatever layout.
/// What it returns moves to the device, what it writes to gets its new value.
void callOnHost(const c10::OperatorHandle &op, torch::jit::Stack &stack);

/// The same of a call with a tensor that is not dense, or one that makes one.
/// Counts as a fallback if it computes something. Boxed kernel.
void callNotDense(const c10::OperatorHandle &op, torch::jit::Stack *stack);

/// Whether the call has such a tensor, and so was made on the host.
inline bool wasNotDense(const c10::OperatorHandle &op,
                        torch::jit::Stack &stack) {
  bool found = false;
  for (const c10::IValue &value :
       torch::jit::last(stack, op.schema().arguments().size()))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      found |= tensor.defined() && isNotDense(tensor);
    });
  if (found) [[unlikely]]
    callNotDense(op, &stack);
  return found;
}

} // namespace ltc::backend
