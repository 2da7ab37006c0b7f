//===- record/inference_mode.cpp - Ops in inference mode --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/inference_mode.h"

#include "ltc_backend/record/wrapper.h"

#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>

namespace ltc::backend {
using c10::AutogradState;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::OperatorHandle;
using c10::SafeKernelFunction;

namespace {
struct CompositeKernel final : c10::OperatorKernel {
  explicit CompositeKernel(const OperatorHandle &op)
      : parts(op.getComputedKernelForDispatchKey(DispatchKey::Lazy)),
        stock(op.getComputedKernelForDispatchKey(DispatchKey::Functionalize)) {}

  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    bool isLazy = keys.has(DispatchKey::Lazy);
    (isLazy ? parts : stock).callBoxed(op, keys, stack);
  }

private:
  SafeKernelFunction parts;
  SafeKernelFunction stock;
};

/// New tensors are ordinary ones, while dispatch goes on as in inference mode.
struct OrdinaryTensors {
  OrdinaryTensors() : previous(AutogradState::get_tls_state()) {
    AutogradState state = previous;
    state.set_inference_mode(false);
    AutogradState::set_tls_state(state);
  }
  ~OrdinaryTensors() { AutogradState::set_tls_state(previous); }
  AutogradState previous;
};

struct InferenceViewKernel final : c10::OperatorKernel {
  explicit InferenceViewKernel(const OperatorHandle &op)
      : arguments(op.schema().arguments().size()),
        stock(op.getComputedKernelForDispatchKey(DispatchKey::Functionalize)) {}

  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    // PyTorch's views do not sync what they are taken of.
    settle(torch::jit::peek(*stack, 0, arguments).toTensor());
    if (!c10::InferenceMode::is_enabled() || !keys.has(DispatchKey::Lazy) ||
        torch::jit::peek(*stack, 0, arguments).toTensor().is_inference())
      return callStock(stock, op, keys, *stack);
    OrdinaryTensors guard;
    callStock(stock, op, keys, *stack);
  }

private:
  size_t arguments;
  SafeKernelFunction stock;
};
} // namespace

static bool isView(const c10::FunctionSchema &schema) {
  if (schema.is_mutable() || schema.arguments().empty())
    return false;
  const c10::Argument &self = schema.arguments()[0];
  return self.alias_info() && self.type()->kind() == c10::TypeKind::TensorType;
}

static bool isComposite(const OperatorHandle &op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(DispatchKey::Lazy);
}

void registerForInferenceMode(torch::Library &library) {
  constexpr std::string_view prefix = "aten::";
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &operatorName : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findSchema(operatorName);
    if (!op || !operatorName.name.starts_with(prefix))
      continue;
    std::string name = c10::toString(operatorName).substr(prefix.size());
    bool isFunctionalised =
        op->hasKernelForDispatchKey(DispatchKey::Functionalize);
    if (isComposite(*op) && !isFunctionalised)
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                     std::make_unique<CompositeKernel>(*op)));
    else if (isView(op->schema()) && isFunctionalised && !isComposite(*op))
      library.impl(name.c_str(),
                   torch::CppFunction::makeFromBoxedFunctor(
                       std::make_unique<InferenceViewKernel>(*op)));
  }
}

} // namespace ltc::backend
