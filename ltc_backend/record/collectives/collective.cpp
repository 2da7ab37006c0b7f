//===- collectives/collective.cpp - A collective's kernel -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/library.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/collectives/collective_at_once.h"
#include "ltc_backend/record/collectives/collective_batch.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/collective_place.h"
#include "ltc_backend/record/collectives/recorded_collective.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"

#include "ltc/metrics.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;
using c10d::ProcessGroup;

/// The schemas do not say what a collective writes to.
constexpr Collective kCollectives[] = {
    {"allgather_", "all_gather", Access::Fill, Alike::Second},
    {"_allgather_base_", "all_gather_into_tensor", Access::Fill, Alike::Second},
    {"allgather_coalesced_", "all_gather_coalesced", Access::Fill,
     Alike::Second},
    {"allgather_into_tensor_coalesced_", "all_gather_into_tensor", Access::Fill,
     Alike::Second},
    {"allreduce_", "all_reduce", Access::Update, Alike::First},
    {"allreduce_coalesced_", "all_reduce_coalesced", Access::Update,
     Alike::First},
    {"alltoall_", "all_to_all", Access::Fill, Alike::None},
    {"alltoall_base_", "all_to_all_single", Access::Fill, Alike::None},
    {"barrier", "barrier", Access::Read, Alike::None},
    {"broadcast_", "broadcast", Access::Update, Alike::First},
    {"check_for_nan", "check_for_nan", Access::Read, Alike::None},
    {"gather_", "gather", Access::Fill, Alike::Second},
    {"monitored_barrier_", "monitored_barrier", Access::Read, Alike::None},
    {"recv_", "recv", Access::Fill, Alike::First},
    {"recv_any_source_", "recv", Access::Fill, Alike::First},
    {"reduce_", "reduce", Access::Update, Alike::First},
    {"reduce_scatter_", "reduce_scatter", Access::Fill, Alike::Second},
    {"_reduce_scatter_base_", "reduce_scatter_tensor", Access::Fill,
     Alike::Second},
    {"reduce_scatter_tensor_coalesced_", "reduce_scatter_tensor", Access::Fill,
     Alike::Second},
    {"scatter_", "scatter", Access::Fill, Alike::First},
    {"send", "send", Access::Read, Alike::First},
};

/// Before the call is counted in its group: the other ranks may build no graph.
static void refuseInBuiltGraph(const c10::OperatorHandle &op,
                               c10::ArrayRef<IValue> arguments) {
  for (const IValue &value : arguments)
    forEachNested(value, [&](const Tensor &tensor) {
      if (tensor.defined() && tensor.device().is_lazy() &&
          homeOf(tensor.device().index()) != tensor.device().index())
        raise({ErrorCode::Unsupported, Stage::Record,
               "a graph that is being built has types and no values, and a "
               "collective needs other ranks'",
               c10::toString(op.operator_name()), sourceOf(currentSource()),
               "call it between graphs"});
    });
}

namespace {
class CollectiveKernel final : public c10::OperatorKernel {
public:
  explicit CollectiveKernel(const Collective &collective)
      : collective(collective) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet,
                  torch::jit::Stack *stack) {
    auto arguments = torch::jit::pop(*stack, op.schema().arguments().size());
    refuseInBuiltGraph(op, arguments);
    CollectiveCall named = describe(collective, op.schema(), arguments);
    static Counter &counted = counter("execute.collectives");
    counted.add();
    CallAtOnce given{collective, op, std::move(arguments), std::move(named)};
    if (addToBatch(given, *stack))
      return;
    auto recordable =
        RecordableCall::of(collective, given.call, op, given.arguments);
    if (recordable && recordable->isKnown())
      return record(*recordable, std::move(given), *stack);
    callAtOnce(std::move(given), *stack);
    if (recordable)
      recordable->makeKnown();
  }

private:
  static void record(const RecordableCall &recordable, CallAtOnce given,
                     torch::jit::Stack &results) {
    IValue first = given.arguments[0];
    for (IValue &argument : given.arguments)
      if (isGroup(argument))
        argument =
            groupIn(given.call.place, argument.toCustomClass<ProcessGroup>());
    recordable.record(given.kind, std::move(given.call), given.op, first,
                      std::move(given.arguments), results);
  }

  const Collective &collective;
};
} // namespace

static bool hasLazy(c10::ArrayRef<IValue> arguments) {
  bool found = false;
  for (const IValue &value : arguments)
    forEachNested(value, [&](const Tensor &tensor) {
      found |= tensor.defined() && isFunctionalLazy(tensor);
    });
  return found;
}

namespace {
/// A view that shows conjugates or negatives comes here as it is: PyTorch's
/// kernel would have the collective write to a copy, which nobody sees.
struct MathBitsKernel final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!hasLazy(torch::jit::last(*stack, op.schema().arguments().size())))
      return stock.callBoxed(op, keys, stack);
    op.callBoxedForDispatchKey(c10::DispatchKey::Functionalize, *stack);
  }
};
} // namespace

namespace {
/// Tensors of the CPU and of PyTorch's CUDA may be carried by the same library:
/// those that graphs carry come first, as in the program.
struct InOrderKernel final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!isStarting())
      settleRecorded();
    stock.callBoxed(op, keys, stack);
  }
};
} // namespace

static c10::OperatorHandle handleOf(const Collective &collective) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      (std::string("c10d::") + collective.op).c_str(), "");
}

static void registerInOrder() {
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
    torch::Library *library = makeLibrary("c10d", key);
    for (const Collective &collective : kCollectives)
      if (handleOf(collective).hasKernelForDispatchKey(key))
        library->impl(collective.op, torch::CppFunction::makeFromBoxedFunctor(
                                         std::make_unique<InOrderKernel>(
                                             handleOf(collective), key)));
  }
}

static void registerOnMathBits() {
  for (auto key : {c10::DispatchKey::Negative, c10::DispatchKey::Conjugate}) {
    torch::Library *library = makeLibrary("c10d", key);
    for (const Collective &collective : kCollectives)
      library->impl(collective.op, torch::CppFunction::makeFromBoxedFunctor(
                                       std::make_unique<MathBitsKernel>(
                                           handleOf(collective), key)));
  }
}

namespace {
/// Those that return what they fill are made of the others, and see the
/// program's tensors. On the host they would be copied before they are filled.
/// Tensors of a trace are PyTorch's to functionalise.
struct FunctionalKernel final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!hasLazy(torch::jit::last(*stack, op.schema().arguments().size())))
      return stock.callBoxed(op, keys, stack);
    op.redispatchBoxed(keys &
                           c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER,
                                               c10::DispatchKey::Functionalize),
                       stack);
  }
};
} // namespace

static void passOnFunctional() {
  // PyTorch's one kernel for all that have none of their own.
  c10::OperatorHandle any = c10::Dispatcher::singleton().findSchemaOrThrow(
      "_c10d_functional::all_reduce", "");
  auto names = c10::Dispatcher::singleton().getAllOpNames();
  // Python defines it, maybe later: in torch.distributed's functional module.
  c10::OperatorName wrap("_c10d_functional::_wrap_tensor_autograd", "");
  if (std::ranges::find(names, wrap) == names.end())
    names.push_back(wrap);
  for (const char *space :
       {"_c10d_functional", "_c10d_functional_autograd", "_dtensor"}) {
    auto *library = makeLibrary(space, c10::DispatchKey::Functionalize);
    for (const c10::OperatorName &name : names)
      if (name.getNamespace() == space)
        library->impl(c10::toString(name).c_str(),
                      torch::CppFunction::makeFromBoxedFunctor(
                          std::make_unique<FunctionalKernel>(any)));
  }
}

void registerCollectives() {
  auto *library = makeLibrary("c10d", c10::DispatchKey::Functionalize);
  for (const Collective &collective : kCollectives)
    library->impl(collective.op,
                  torch::CppFunction::makeFromBoxedFunctor(
                      std::make_unique<CollectiveKernel>(collective)));
  registerBatches();
  registerInOrder();
  registerOnMathBits();
  registerGraphCollectives();
  passOnFunctional();
}

} // namespace ltc::backend
