//===- record/dispatch_mode.cpp - What __torch_dispatch__ sees --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/dispatch_mode.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/schema.h"

namespace ltc::backend {
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::OperatorHandle;

void callFunctionalised(const OperatorHandle &op, torch::jit::Stack *stack) {
  auto local = c10::impl::tls_local_dispatch_key_set();
  local.excluded_ = local.excluded_.remove(DispatchKey::Functionalize)
                        .remove(DispatchKey::PythonTLSSnapshot);
  c10::impl::ForceDispatchKeyGuard guard(local);
  op.callBoxed(stack);
}

/// PyTorch's kernel on the first key of any call that a handler is to see: its
/// fallback, and the same for every op.
static const c10::KernelFunction &towardsHandler() {
  static const auto *kernel = new c10::KernelFunction(
      kernelOf(atenOp("add", "Tensor"), DispatchKey::PythonTLSSnapshot));
  return *kernel;
}

/// Nested tensors have handlers for some that others are composed of.
static bool isShown(const OperatorHandle &op) {
  return !op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::NestedTensorCPU);
}

/// In place of it: a kernel for each op took 1.6 MiB.
static void goToHandler(const OperatorHandle &op, DispatchKeySet keys,
                        torch::jit::Stack *stack) {
  if (keys.has(DispatchKey::Lazy) && isShown(op))
    keys = keys.remove(DispatchKey::Functionalize);
  towardsHandler().callBoxed(op, keys, stack);
}

namespace {
/// On the Lazy key.
struct FromHandler final : KernelOverride {
  explicit FromHandler(const OperatorHandle &op)
      : KernelOverride(op, DispatchKey::Lazy) {}
  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (isCalledByHandler())
      return callFunctionalised(op, stack);
    stock.callBoxed(op, keys, stack);
  }
};
} // namespace

/// Whether the op's kernel on the Lazy key is PyTorch's own: one of views and
/// writes, which looks into a tensor's memory.
static bool looksIntoMemory(const OperatorHandle &op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
         hasAliases(op.schema());
}

void registerForDispatchModes(torch::Library &lazy) {
  towardsHandler(); // before ours stands in front of it
  replaceFallback(DispatchKey::PythonTLSSnapshot,
                  c10::KernelFunction::makeFromBoxedFunction<&goToHandler>());
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    if (isShown(op) &&
        (op.hasKernelForDispatchKey(DispatchKey::Lazy) || looksIntoMemory(op)))
      implementBoxed<FromHandler>(lazy, name, op);
  });
}

} // namespace ltc::backend
