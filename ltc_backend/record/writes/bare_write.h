//===- writes/bare_write.h - Writes below functionalisation -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Runs a mutating op on bare lazy tensors: what a kernel that PyTorch composes
/// of others, or a custom op, does to its own temporaries. Raises for a tensor
/// that shares memory with a view, since bare views are copies.
void writeBare(const c10::OperatorHandle &op, torch::jit::Stack &stack);

/// Notes that the results of a view op below functionalisation are copies.
void noteBareView(const c10::OperatorHandle &op,
                  c10::ArrayRef<c10::IValue> arguments,
                  c10::ArrayRef<c10::IValue> results);

} // namespace ltc::backend
