//===- host/host_call.h - Calls that the CPU answers ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

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

/// Of an op that takes or gives a nested tensor; `found` says more.
[[noreturn]] void refuseNested(const c10::OperatorHandle &op,
                               const std::string &found = "");

} // namespace ltc::backend
