//===- record/direct_kernel.cpp - Kernels that record directly ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_kernel.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/direct_host_call.h"
#include "ltc_backend/record/immediate_call.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/record/views/math_bits.h"

namespace ltc::backend {
using c10::DispatchKey;

/// What PyTorch composes the op of, on a key where nobody has another kernel.
static c10::KernelFunction partsOf(const c10::OperatorHandle &op) {
  return kernelOf(op, DispatchKey::IPU);
}

namespace {
/// On Functionalize, or on AutogradLazy in front of autograd's kernel.
class DirectKernel final : public KernelOverride {
public:
  explicit DirectKernel(const OpInfo &info, bool overAutograd = false)
      : KernelOverride(info.handle), info(info) {
    if (overAutograd)
      autograd.emplace(info.handle);
  }

  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (isNext(keys) && runAtOnce(info, *stack))
      return;
    if (!record(keys, *stack))
      goLongWay(keys, *stack);
  }

  template <size_t Count, typename... Args>
  Result<Count> unboxed(c10::DispatchKeySet keys,
                        Parameter<Args>... arguments) {
    std::array<at::Tensor, Count> results;
    bool isLeft = autograd && (isTracked(arguments) || ...);
    if (!isLeft && isNext(keys) &&
        runAtOnce<Count, Args...>(info, results, arguments...)) {
      for (at::Tensor &result : results)
        if (result.defined())
          result = wrapResult(info, result);
      return asResult(std::move(results));
    }
    if (!isLeft && isNext(keys) && isOrdinary(info)) {
      CallReader call(info, arguments...);
      if (recordDirectly(call, results))
        return asResult(std::move(results));
    }
    if (autograd)
      return autograd->callAutograd<Result<Count>, Parameter<Args>...>(
          keys, arguments...);
    torch::jit::Stack stack;
    stack.reserve(sizeof...(Args));
    (stack.emplace_back(arguments), ...);
    goLongWay(keys, stack);
    for (size_t i = 0; i < Count; ++i)
      results[i] = std::move(stack[i]).toTensor();
    return asResult(std::move(results));
  }

private:
  /// Whether what comes below here would lead to the recorder.
  bool isNext(c10::DispatchKeySet keys) const {
    return autograd ? isFunctionalisedNext(keys) && autograd->isStock()
                    : keys.has(DispatchKey::Lazy);
  }

  bool record(c10::DispatchKeySet keys, torch::jit::Stack &stack) {
    if (!isNext(keys) || !isOrdinary(info))
      return false;
    CallReader call(info, torch::jit::last(stack, info.arguments.size()));
    return recordDirectly(call, stack);
  }

  bool leaves(torch::jit::Stack &stack) const {
    return info.makesLike &&
           CallReader(info, torch::jit::last(stack, info.arguments.size()))
               .leaves;
  }

  void goLongWay(c10::DispatchKeySet keys, torch::jit::Stack &stack) {
    if (keys.has(DispatchKey::Lazy) && leaves(stack))
      return partsOf(info.handle).callBoxed(info.handle, keys, &stack);
    if (!resolvedMathBits(info.handle, keys, stack) &&
        !(keys.has(DispatchKey::Lazy) && callHostDirectly(info, stack)))
      callStock(stock, info.handle, keys, stack);
  }

  const OpInfo &info;
  std::optional<AutogradOverride> autograd;
};
} // namespace

void registerDirectKernel(torch::Library &library, const char *name,
                          const OpInfo &info, bool overAutograd) {
  auto registerFor = [&]<size_t Count, typename... Args>(Returns<Count>,
                                                         Takes<Args...>) {
    auto add = [&](torch::Library &to, bool isAutograd) {
      auto kernel = std::make_shared<DirectKernel>(info, isAutograd);
      implement(
          to, name,
          [kernel](c10::DispatchKeySet keys, Parameter<Args>... arguments) {
            return kernel->template unboxed<Count, Args...>(keys, arguments...);
          });
    };
    add(library, false);
    if (overAutograd && isLeftToAutograd(info.handle))
      add(autogradLibrary(), true);
  };
  if (!visitCall(info.handle.schema(), registerFor))
    implementBoxed<DirectKernel>(library, name, info);
}

} // namespace ltc::backend
