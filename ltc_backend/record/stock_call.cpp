//===- record/stock_call.cpp - Calls of PyTorch's functionalisation -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/stock_call.h"

#include "ltc_backend/record/fallback.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

#include <span>

namespace ltc::backend {
namespace functional = at::functionalization;
using c10::IValue;

static at::Tensor adopt(const at::Tensor &tensor) {
  if (!tensor.defined() || !functional::impl::isFunctionalTensor(tensor))
    return tensor;
  auto *stock = functional::impl::unsafeGetFunctionalWrapper(tensor);
  if (isNotDense(stock->value()))
    return stock->value(); // of which those inside are wrapped
  if (!isLazy(tensor) || isWrapper(*stock))
    return tensor;
  return shareStorage(tensor);
}

void callStock(const c10::KernelFunction &stock, const c10::OperatorHandle &op,
               c10::DispatchKeySet keys, torch::jit::Stack &stack) {
  if (wasNotDense(op, stack)) [[unlikely]]
    return;
  const auto &arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].alias_info()) {
      IValue &value = torch::jit::peek(stack, i, arguments.size());
      value = mapTensors(value, materialised);
    }
  stock.callBoxed(op, keys, &stack);
  const auto &results = op.schema().returns();
  auto values = std::span(stack).last(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (!isWritten(results[i]))
      values[i] = mapTensors(values[i], adopt);
}

namespace {
struct WrappingKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    callStock(stock, op, keys, *stack);
  }
};

/// torch.tensor() ends with this op. PyTorch's kernel returns a view of the new
/// tensor, of which every write would be a write to two.
struct LiftFreshKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!isFunctionalLazy(torch::jit::peek(*stack, 0, 1).toTensor()))
      stock.callBoxed(op, keys, stack);
  }
};
} // namespace

void registerWrappers(torch::Library &library) {
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    if (op.hasKernelForDispatchKey(c10::DispatchKey::Lazy) &&
        !hasAliases(op.schema()))
      implementBoxed<WrappingKernel>(library, name, op);
  });
  implementBoxed<LiftFreshKernel>(library, "lift_fresh", atenOp("lift_fresh"));
}

} // namespace ltc::backend
