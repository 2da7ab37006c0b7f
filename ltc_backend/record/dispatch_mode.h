//===- record/dispatch_mode.h - What __torch_dispatch__ sees ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch runs a TorchDispatchMode, and the __torch_dispatch__ of a tensor
// subclass, below functionalisation. Such a handler would see a tensor's value,
// another one after each write, and copies instead of views: what it remembers
// of tensors, as a tracer does, would be lost. So functionalisation is passed
// by on the way to a handler, and done for the calls that the handler makes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace ltc::backend {

/// Whether a handler makes the call that a kernel on the Lazy key has received:
/// then all that stands above the Python key is excluded. In a call that
/// functionalisation makes, it alone is.
inline bool isCalledByHandler() {
  c10::DispatchKeySet excluded =
      c10::impl::tls_local_dispatch_key_set().excluded_;
  return excluded.has(c10::DispatchKey::PythonTLSSnapshot) &&
         excluded.has(c10::DispatchKey::Functionalize);
}

/// Makes a handler's call again, functionalised.
void callFunctionalised(const c10::OperatorHandle &op,
                        torch::jit::Stack *stack);

/// Leads calls to handlers past functionalisation, and back to it where an op
/// has a kernel on the Lazy key by now: RecordKernel does so itself.
/// `lazy` is aten's on that key.
void registerForDispatchModes(torch::Library &lazy);

} // namespace ltc::backend
