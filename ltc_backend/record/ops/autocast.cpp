//===- ops/autocast.cpp - torch.autocast('lazy') --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops cast is not written down here: an op that PyTorch casts on the CPU
// casts on lazy, so that a script gets the dtypes it gets on the CPU. Only the
// policy cannot be asked for: op_facts.def has it. Lazy tensors carry no
// autocast key, so the key is included for the thread while a region is on.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/autocast.h"

#include "ltc/op_facts.h"
#include "ltc_backend/library.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <mutex>
#include <unordered_map>

namespace ltc::backend {
namespace {
using at::ScalarType;
using at::Tensor;
using c10::DispatchKey;

constexpr DispatchKey kKey = DispatchKey::AutocastXLA;
constexpr at::DeviceType kState = at::kXLA; ///< whose dtype and switch we use

enum class Policy { LowerPrecision, Widest, Float32 };

Policy policyOf(const c10::OperatorHandle &op) {
  OpFacts facts = factsOf(c10::toString(op.operator_name()));
  return facts.has(OpFact::CastLower)    ? Policy::LowerPrecision
         : facts.has(OpFact::CastWidest) ? Policy::Widest
                                         : Policy::Float32;
}

bool isEligible(const Tensor &tensor) {
  return tensor.defined() && tensor.device().type() == at::kLazy &&
         tensor.is_floating_point() && tensor.scalar_type() != at::kDouble;
}

ScalarType lowerPrecision() { return at::autocast::get_autocast_dtype(kState); }

/// Casts of parameters: a weight that is used twice in a region is cast once,
/// and its gradients are summed before they are cast back, as on the CPU.
class Cache {
public:
  Tensor cast(const Tensor &leaf, ScalarType to) {
    {
      std::lock_guard lock(mutex);
      auto known = casts.find(leaf.unsafeGetTensorImpl());
      if (known != casts.end())
        return known->second.second;
    }
    if (c10::InferenceMode::is_enabled())
      return leaf.to(to);
    // One that is made without gradients may serve calls with them.
    at::AutoGradMode withGradients(true);
    Tensor made = leaf.to(to); // without the lock: may want the GIL
    std::lock_guard lock(mutex);
    // Holding the leaf keeps its address from being used again.
    auto entry = casts.try_emplace(leaf.unsafeGetTensorImpl(), leaf, made);
    return entry.first->second.second;
  }
  void clear() {
    decltype(casts) old; // destroyed without the lock: tensors free others
    std::lock_guard lock(mutex);
    old.swap(casts);
  }

private:
  std::mutex mutex;
  std::unordered_map<at::TensorImpl *, std::pair<Tensor, Tensor>> casts;
};

Cache &cache() {
  static auto *instance = new Cache; // never destroyed: see pendingList()
  return *instance;
}

Tensor cast(const Tensor &tensor, ScalarType to) {
  if (!isEligible(tensor) || tensor.scalar_type() == to)
    return tensor;
  bool isParameter = tensor.scalar_type() == at::kFloat &&
                     tensor.requires_grad() && tensor.is_leaf() &&
                     !tensor.is_view();
  if (isParameter && to == lowerPrecision() &&
      at::autocast::is_autocast_cache_enabled())
    return cache().cast(tensor, to);
  return tensor.to(to);
}

template <typename Visit> void forEachTensor(c10::IValue &value, Visit visit) {
  if (value.isTensor()) {
    value = visit(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor &tensor : value.toTensorList())
      list.push_back(visit(tensor));
    value = std::move(list);
  }
}

ScalarType widestOf(c10::ArrayRef<c10::IValue> arguments) {
  ScalarType lower = lowerPrecision(), widest = lower;
  for (c10::IValue argument : arguments)
    forEachTensor(argument, [&](const Tensor &tensor) {
      if (isEligible(tensor) && widest != at::kFloat) {
        widest = tensor.scalar_type();
        TORCH_CHECK(
            widest == at::kFloat || widest == lower,
            "Unexpected floating ScalarType in at::autocast::prioritize");
      }
      return tensor;
    });
  return widest;
}

class CastKernel final : public c10::OperatorKernel {
public:
  explicit CastKernel(Policy policy) : policy(policy) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet,
                  torch::jit::Stack *stack) {
    NoAutocast noAutocast;
    size_t count = op.schema().arguments().size();
    auto arguments = torch::jit::last(*stack, count);
    ScalarType to = policy == Policy::Float32  ? at::kFloat
                    : policy == Policy::Widest ? widestOf(arguments)
                                               : lowerPrecision();
    for (auto value = stack->end() - count; value != stack->end(); ++value)
      forEachTensor(*value,
                    [&](const Tensor &tensor) { return cast(tensor, to); });
    op.callBoxed(stack);
  }

private:
  Policy policy;
};

} // namespace

void registerAutocast() {
  makeLibrary("_", kKey)->fallback(torch::CppFunction::makeFallthrough());
  torch::Library *aten = makeLibrary("aten", kKey);
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    if (op.hasKernelForDispatchKey(DispatchKey::AutocastCPU))
      implementBoxed<CastKernel>(*aten, name, policyOf(op));
  });
  // On the CPU, the cast is that of the oneDNN layer inside.
  implementBoxed<CastKernel>(*aten, "lstm.input",
                             policyOf(atenOp("lstm", "input")));
}

void setAutocastEnabled(bool enabled) {
  at::autocast::set_autocast_enabled(kState, enabled);
  c10::impl::tls_set_dispatch_key_included(kKey, enabled);
}

bool isAutocastEnabled() { return at::autocast::is_autocast_enabled(kState); }

void clearAutocastCache() { cache().clear(); }

} // namespace ltc::backend
