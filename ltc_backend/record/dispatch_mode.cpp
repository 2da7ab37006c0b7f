//===- record/dispatch_mode.cpp - What __torch_dispatch__ sees --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/dispatch_mode.h"

#include "ltc_backend/library.h"

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

namespace {
/// On the first key of a call that a handler is to see.
struct ToHandler final : c10::OperatorKernel {
  explicit ToHandler(const OperatorHandle &op)
      : stock(op.getComputedKernelForDispatchKey(
            DispatchKey::PythonTLSSnapshot)) {}
  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (keys.has(DispatchKey::Lazy))
      keys = keys.remove(DispatchKey::Functionalize);
    stock.callBoxed(op, keys, stack);
  }
  c10::SafeKernelFunction stock;
};

/// On the Lazy key.
struct FromHandler final : c10::OperatorKernel {
  explicit FromHandler(const OperatorHandle &op)
      : stock(op.getComputedKernelForDispatchKey(DispatchKey::Lazy)) {}
  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (isCalledByHandler())
      return callFunctionalised(op, stack);
    stock.callBoxed(op, keys, stack);
  }
  c10::SafeKernelFunction stock;
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
  static const auto *names =
      new std::set<std::string>{"aten::empty.memory_format",
                                "aten::empty_strided",
                                "aten::_to_copy",
                                "aten::copy",
                                "aten::_local_scalar_dense",
                                "aten::lift",
                                "aten::lift_fresh",
                                "aten::clone",
                                "aten::_unsafe_view",
                                "aten::alias_copy",
                                "aten::detach_copy",
                                "aten::lift_fresh_copy",
                                "aten::equal",
                                "aten::allclose",
                                "aten::native_batch_norm"};
  if (names->count(name))
    return true;
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
         std::ranges::any_of(op.schema().arguments(), [](auto &argument) {
           return argument.alias_info();
         });
}

void registerForDispatchModes() {
  constexpr std::string_view prefix = "aten::";
  torch::Library *way = makeLibrary("aten", DispatchKey::PythonTLSSnapshot);
  torch::Library *lazy = makeLibrary("aten", DispatchKey::Lazy);
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &operatorName : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findSchema(operatorName);
    // Nested tensors have handlers for some that others are composed of.
    if (!op || !operatorName.name.starts_with(prefix) ||
        (op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
         !op->hasKernelForDispatchKey(DispatchKey::NestedTensorCPU)))
      continue;
    std::string name = c10::toString(operatorName);
    const char *plain = name.c_str() + prefix.size();
    using torch::CppFunction;
    if (takesTensors(op->schema()))
      way->impl(plain, CppFunction::makeFromBoxedFunctor(
                           std::make_unique<ToHandler>(*op)));
    if (hasOtherKernel(*op, name))
      lazy->impl(plain, CppFunction::makeFromBoxedFunctor(
                            std::make_unique<FromHandler>(*op)));
  }
}

} // namespace ltc::backend
