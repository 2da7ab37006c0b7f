//===- ops/mixed_list.h - Lists of tensors of several devices ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// Whether the first list holds tensors of several devices.
bool isMixed(c10::ArrayRef<c10::IValue> arguments);

/// Whether there is one of each for each tensor. Eager refuses other lists
/// before it writes.
bool areSideBySide(c10::ArrayRef<c10::IValue> arguments);

/// The arguments for one tensor of the lists.
torch::jit::Stack alone(c10::ArrayRef<c10::IValue> arguments, size_t place);

/// Gives torch._foreach_add or one like it, in front of the kernel that it has,
/// one that calls the op for each tensor alone where a list is mixed, as
/// eager's does. `library` is aten's on the Functionalize key.
void registerMixedList(torch::Library &library, const char *name,
                       const c10::OperatorHandle &op);

} // namespace ltc::backend
