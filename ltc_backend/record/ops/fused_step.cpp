//===- ops/fused_step.cpp - Steps of optimizers that are one op -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/fused_step.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/writes/write_check.h"
#include "ltc_backend/tensors/functional.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/TensorSubclassLikeUtils.h>

namespace ltc::backend {
namespace functional = at::functionalization::impl;
using c10::DispatchKey;
using c10::IValue;

/// Of a step as optimizers count it on the host; else null.
static float *hostCount(const at::Tensor &step) {
  bool isPlain = step.is_cpu() && !at::isTensorSubclassLike(step);
  return isPlain && step.scalar_type() == at::kFloat && step.numel() == 1
             ? step.mutable_data_ptr<float>()
             : nullptr;
}

/// The counts are mostly equal: then one number stands for all.
static void shareCount(IValue &steps) {
  auto all = steps.toListRef();
  const float *first = all.empty() ? nullptr : hostCount(all[0].toTensor());
  auto isEqual = [&](const IValue &step) {
    const float *count = hostCount(step.toTensor());
    return count && *count == *first;
  };
  if (first && std::ranges::all_of(all, isEqual))
    steps = c10::List<at::Tensor>({all[0].toTensor()});
}

void countStep(const std::vector<at::Tensor> &steps) {
  for (const at::Tensor &step : steps)
    if (float *count = hostCount(step)) {
      ++*count;
      step.unsafeGetTensorImpl()->bump_version();
    } else {
      step.add_(1);
    }
}

bool areAlike(const std::vector<at::Tensor> &parameters) {
  if (parameters.empty())
    return false;
  const at::Tensor &first = parameters[0];
  return (first.scalar_type() == at::kFloat ||
          first.scalar_type() == at::kDouble) &&
         std::ranges::all_of(parameters, [&](const at::Tensor &parameter) {
           return isFunctionalLazy(parameter) &&
                  parameter.scalar_type() == first.scalar_type() &&
                  parameter.device() == first.device();
         });
}

namespace {
class FusedStepKernel final : public KernelOverride {
public:
  FusedStepKernel(const c10::OperatorHandle &op, const OpInfo &twin)
      : KernelOverride(op), info(twin),
        lists(twin.handle.schema().returns().size()), check(op) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!keys.has(DispatchKey::Lazy))
      return stock.callBoxed(op, keys, stack);
    size_t count = info.arguments.size();
    for (size_t i = 0; i < count; ++i)
      if (info.arguments[i].name == "state_steps")
        shareCount(torch::jit::peek(*stack, i, count));
    auto values = torch::jit::last(*stack, count);
    Selves selves = findSelves(values);
    if (!updatedDirectly(selves, values))
      update(selves, values);
    torch::jit::drop(*stack, count);
  }

private:
  using Selves = c10::SmallVector<const at::Tensor *, 32>;

  /// The tensors of the lists; null for a gradient that is not unscaled.
  Selves findSelves(c10::ArrayRef<IValue> values) const {
    bool unscales = false;
    for (size_t i = 0; i < values.size(); ++i)
      unscales |=
          info.arguments[i].name == "grad_scale" && values[i].isTensor();
    Selves selves;
    for (size_t i = 0; i < lists; ++i)
      for (const IValue &self : values[i].toListRef())
        selves.push_back(info.arguments[i].name == "grads" && !unscales
                             ? nullptr
                             : &self.toTensor());
    return selves;
  }

  bool updatedDirectly(const Selves &selves,
                       c10::ArrayRef<IValue> values) const {
    auto isDirect = [](const at::Tensor *self) {
      return !self || (isFunctionalLazy(*self) && isAlone(*self));
    };
    if (!isOrdinary(info) || !std::ranges::all_of(selves, isDirect))
      return false;
    CallReader call(info, values);
    return updateDirectly(selves, call);
  }

  /// Calls the op that writes nothing.
  void update(const Selves &selves, c10::ArrayRef<IValue> values) const {
    check(values);
    torch::jit::Stack call(values.begin(), values.end());
    info.handle.callBoxed(&call);
    auto self = selves.begin();
    for (const IValue &list : call)
      for (const IValue &result : list.toListRef())
        if (const at::Tensor *to = *self++)
          if (!takesValue(*to, result.toTensor()))
            to->copy_(result.toTensor());
  }

  static bool takesValue(const at::Tensor &self, const at::Tensor &result) {
    return isFunctionalLazy(self) && isFunctionalLazy(result) &&
           takeValue(self, functional::from_functional_tensor(result));
  }

  const OpInfo &info; ///< of the op that writes nothing
  size_t lists;
  WriteCheck check;
};
} // namespace

void registerFusedSteps(torch::Library &library) {
  for (const std::string name : {"_fused_adam", "_fused_adamw", "_fused_sgd"}) {
    const std::string inPlace = name + "_";
    for (const std::string overload : {"", "tensor_lr"}) {
      std::string full = inPlace;
      if (!overload.empty())
        full.append(".").append(overload);
      implementBoxed<FusedStepKernel>(library, full.c_str(),
                                      atenOp(inPlace, overload.c_str()),
                                      opInfo(atenOp(name, overload.c_str())));
    }
  }
}

} // namespace ltc::backend
