//===- record/dispatch_mode.cpp - New tensors under a mode ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/dispatch_mode.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/map_tensors.h"

#include <ATen/FunctionalTensorWrapper.h>

#include <span>

namespace ltc::backend {
namespace functional = at::functionalization::impl;
using c10::DispatchKey;
using c10::OperatorHandle;

namespace {
struct FactoryKernel final : c10::OperatorKernel {
  explicit FactoryKernel(const OperatorHandle &op)
      : stock(op.getComputedKernelForDispatchKey(
            DispatchKey::PythonTLSSnapshot)) {}

  void operator()(const OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    stock.callBoxed(op, keys, stack);
    // wrap() leaves it bare inside of functionalisation, where a mode may call.
    size_t results = op.schema().returns().size();
    for (c10::IValue &value : std::span(*stack).last(results))
      value = mapTensors(value, [](const at::Tensor &tensor) {
        // A wrapper made here, above autograd, would hide a gradient.
        bool isBare = tensor.defined() && !tensor.requires_grad() &&
                      !functional::isFunctionalTensor(tensor) && isLazy(tensor);
        return isBare ? wrap(tensor) : tensor;
      });
  }

private:
  c10::SafeKernelFunction stock;
};
} // namespace

static bool makesTensors(const c10::FunctionSchema &schema) {
  bool takesDevice = false;
  for (const c10::Argument &argument : schema.arguments()) {
    if (argument.alias_info())
      return false;
    takesDevice |= argument.name() == "device";
  }
  return takesDevice;
}

void registerForDispatchModes() {
  constexpr std::string_view prefix = "aten::";
  torch::Library *library = makeLibrary("aten", DispatchKey::PythonTLSSnapshot);
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &operatorName : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findSchema(operatorName);
    if (op && operatorName.name.starts_with(prefix) &&
        makesTensors(op->schema()))
      library->impl(c10::toString(operatorName).c_str() + prefix.size(),
                    torch::CppFunction::makeFromBoxedFunctor(
                        std::make_unique<FactoryKernel>(*op)));
  }
}

} // namespace ltc::backend
