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
static const c10::SafeKernelFunction &towardsHandler() {
  static const auto *kernel = new c10::SafeKernelFunction(
      atenOp("add", "Tensor")
          .getComputedKernelForDispatchKey(DispatchKey::PythonTLSSnapshot));
  return *kernel;
}

/// In front of it, for ops that may see a lazy tensor. A function, since a
/// functor for each took 0.7 MiB more in every process.
static void goToHandler(const OperatorHandle &op, DispatchKeySet keys,
                        torch::jit::Stack *stack) {
  if (keys.has(DispatchKey::Lazy))
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

static bool takesTensors(const c10::FunctionSchema &schema) {
  return std::ranges::any_of(schema.arguments(), [](auto &argument) {
    std::string type = argument.type()->str();
    return type.find("Tensor") != std::string::npos;
  });
}

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
  torch::Library *way = makeLibrary("aten", DispatchKey::PythonTLSSnapshot);
  torch::Library *lazy = makeLibrary("aten", DispatchKey::Lazy);
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    // Nested tensors have handlers for some that others are composed of.
    if (op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
        !op.hasKernelForDispatchKey(DispatchKey::NestedTensorCPU))
      return;
    if (takesTensors(op.schema()))
      way->impl(name,
                torch::CppFunction::makeFromBoxedFunction<&goToHandler>().debug(
                    kRegisteredBy));
    if (hasOtherKernel(op, name))
      implementBoxed<FromHandler>(*lazy, name, op);
  });
}

} // namespace ltc::backend
