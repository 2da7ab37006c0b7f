//===- custom_op.cpp - Ops that the user's program defines ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/custom_op.h"

#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/wrapper.h"

#include <set>

namespace ltc::backend {

std::atomic<bool> customOpsWait{false};

namespace {
using c10::DispatchKey;

bool isFunctionalLazy(const at::Tensor &tensor) {
  return tensor.defined() &&
         at::functionalization::impl::isFunctionalTensor(tensor) &&
         isLazy(tensor);
}

bool hasFunctionalLazy(c10::ArrayRef<c10::IValue> arguments) {
  return std::ranges::any_of(arguments, [](const c10::IValue &value) {
    if (value.isTensor())
      return isFunctionalLazy(value.toTensor());
    return value.isTensorList() &&
           std::ranges::any_of(value.toTensorVector(), isFunctionalLazy);
  });
}

struct CustomOpKernel final : c10::OperatorKernel {
  explicit CustomOpKernel(const c10::OperatorHandle &op)
      : stock(op.getComputedKernelForDispatchKey(DispatchKey::Functionalize)) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    constexpr auto composite = DispatchKey::CompositeExplicitAutograd;
    size_t count = op.schema().arguments().size();
    if (op.hasKernelForDispatchKey(composite) &&
        !op.hasKernelForDispatchKey(DispatchKey::Lazy) &&
        hasFunctionalLazy(torch::jit::last(*stack, count)))
      return op.callBoxedForDispatchKey(composite, *stack);
    callStock(stock, op, keys, *stack);
  }

private:
  c10::SafeKernelFunction stock;
};

/// Called with the dispatcher's lock held, so it can only take a note.
class Watcher final : public c10::OpRegistrationListener {
public:
  void onOperatorRegistered(const c10::OperatorHandle &op) override {
    auto space = op.operator_name().getNamespace();
    if (!space || *space == "aten" || *space == "prim" || *space == "prims")
      return;
    std::lock_guard lock(mutex);
    waiting.insert(op.operator_name());
    customOpsWait.store(true, std::memory_order_release);
  }
  void onOperatorDeregistered(const c10::OperatorHandle &op) override {
    std::lock_guard lock(mutex);
    waiting.erase(op.operator_name());
  }

  void adopt() {
    std::vector<c10::OperatorName> names;
    {
      std::lock_guard lock(mutex);
      customOpsWait.store(false, std::memory_order_relaxed);
      for (const c10::OperatorName &name : waiting)
        if (known.insert(name).second)
          names.push_back(name);
      waiting.clear();
    }
    std::lock_guard lock(adopting);
    for (const c10::OperatorName &name : names)
      adopt(name);
  }

private:
  void adopt(const c10::OperatorName &name) {
    auto &dispatcher = c10::Dispatcher::singleton();
    auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(DispatchKey::Functionalize) ||
        op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd))
      return;
    kernels.push_back(
        dispatcher.registerImpl(name, DispatchKey::Functionalize,
                                c10::KernelFunction::makeFromBoxedFunctor(
                                    std::make_unique<CustomOpKernel>(*op)),
                                std::nullopt, nullptr, "torch_ltc"));
  }

  struct Less {
    bool operator()(const c10::OperatorName &a,
                    const c10::OperatorName &b) const {
      return std::tie(a.name, a.overload_name) <
             std::tie(b.name, b.overload_name);
    }
  };
  std::vector<c10::RegistrationHandleRAII> kernels;
  std::mutex adopting; ///< guards `kernels`; the dispatcher's comes after it
  std::mutex mutex;    ///< guards the sets; the dispatcher's comes before it
  std::set<c10::OperatorName, Less> waiting, known;
};

Watcher *watcher = nullptr;
} // namespace

void watchCustomOps() {
  auto owned = std::make_unique<Watcher>();
  watcher = owned.get();
  static auto *registration = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::move(owned)));
  (void)registration;
  adoptCustomOps();
}

void adoptCustomOps() { watcher->adopt(); }

} // namespace ltc::backend
