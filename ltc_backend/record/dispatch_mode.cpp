//===- record/dispatch_mode.cpp - What __torch_dispatch__ sees --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/dispatch_mode.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/schema.h"

#include <set>

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
  if (keys.has(DispatchKey::Lazy) && isShown(op) &&
      op.schema().name().starts_with("aten::"))
    keys = keys.remove(DispatchKey::Functionalize);
  towardsHandler().callBoxed(op, keys, stack);
}

namespace {
/// On the Lazy key.
struct FromHandler final : OverStock {
  explicit FromHandler(const OperatorHandle &op)
      : OverStock(op, DispatchKey::Lazy) {}
  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (isCalledByHandler())
      return callFunctionalised(op, stack);
    stock.callBoxed(op, keys, stack);
  }
};
} // namespace

/// Kernels on the Lazy key that are not RecordKernel: those of transfer.cpp and
/// its like, and PyTorch's own of views and writes, which look into a tensor's
/// memory.
static bool hasOtherKernel(const OperatorHandle &op, const std::string &name) {
  static const auto *names = new std::set<std::string>{"empty.memory_format",
                                                       "empty_strided",
                                                       "_to_copy",
                                                       "copy",
                                                       "_local_scalar_dense",
                                                       "lift",
                                                       "lift_fresh",
                                                       "clone",
                                                       "_unsafe_view",
                                                       "alias_copy",
                                                       "detach_copy",
                                                       "lift_fresh_copy",
                                                       "equal",
                                                       "allclose",
                                                       "native_batch_norm"};
  if (names->count(name))
    return true;
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
         hasAliases(op.schema());
}

void registerForDispatchModes() {
  towardsHandler(); // before ours stands in front of it
  replaceFallback(DispatchKey::PythonTLSSnapshot,
                  c10::KernelFunction::makeFromBoxedFunction<&goToHandler>());
  torch::Library *lazy = makeLibrary("aten", DispatchKey::Lazy);
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    if (isShown(op) && hasOtherKernel(op, name))
      implementBoxed<FromHandler>(*lazy, name, op);
  });
}

} // namespace ltc::backend
