//===- ops/custom_op.cpp - Ops that the user's program defines ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/custom_op.h"

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/new_ops.h"
#include "ltc_backend/record/ops/custom_lowering.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/record_kernel.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/writes/custom_write.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/tensors/schema.h"

#include <map>
#include <set>

namespace ltc::backend {

using c10::DispatchKey;

static bool isPrim(const c10::OperatorName &name) {
  return name.getNamespace() == "prims";
}

/// Whether the op is made of others, not recorded: it may return a view, is one
/// of prims, whose kernels are a few calls of ATen each, or has a kernel for
/// shapes that names other dtypes.
static bool isMadeOfParts(const c10::OperatorHandle &op) {
  return isPrim(op.operator_name()) || hasAliases(op.schema()) ||
         op.schema().name() == "quantized_decomposed::choose_qparams_per_token";
}

/// FSDP's own ops: their kernel, the same for each device that it knows, is
/// calls of ATen and writes that no schema tells of.
static bool isOfFsdp(const c10::OperatorName &name) {
  return name.getNamespace() == "fsdp";
}

namespace {
/// Gives the CPU's kernel the program's tensors.
struct FsdpKernel final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    if (!hasFunctionalLazy(arguments))
      return callStock(stock, op, keys, *stack);
    op.callBoxedForDispatchKey(DispatchKey::CPU, *stack);
  }
};

struct CustomOpKernel final : KernelOverride {
  explicit CustomOpKernel(const c10::OperatorHandle &op)
      : KernelOverride(op),
        shapes(isMadeOfParts(op) ? Shapes::Unsaid : Shapes::Unknown) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    constexpr auto composite = DispatchKey::CompositeExplicitAutograd;
    auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    if (!op.hasKernelForDispatchKey(composite) ||
        op.hasKernelForDispatchKey(DispatchKey::Lazy) ||
        !hasFunctionalLazy(arguments))
      return callStock(stock, op, keys, *stack);
    if (shapes == Shapes::Unknown)
      shapes = hasFake(op, arguments) ? Shapes::Said : Shapes::Unsaid;
    if (shapes == Shapes::Said)
      return recordCall(opInfo(op), *stack);
    // One that is told a device is answered there.
    bool selects = op.hasKernelForDispatchKey(DispatchKey::BackendSelect);
    op.callBoxedForDispatchKey(selects && isPrim(op.operator_name())
                                   ? DispatchKey::BackendSelect
                                   : composite,
                               *stack);
  }

private:
  /// torch.library.custom_op registers a kernel for shapes in any case, which
  /// raises if the program has given none.
  static bool hasFake(const c10::OperatorHandle &op,
                      c10::ArrayRef<c10::IValue> arguments) {
    if (!op.hasKernelForDispatchKey(DispatchKey::Meta))
      return false;
    try {
      callOnProbes(op, replaceAll(arguments, onMeta), c10::kMeta);
      return true;
    } catch (const std::exception &error) {
      // What else is wrong is said again when the call is recorded.
      return std::string_view(error.what()).find("no fake impl") ==
             std::string_view::npos;
    }
  }

  /// Whether the op has a kernel for shapes; each thread finds the same.
  enum class Shapes : uint8_t { Unknown, Unsaid, Said };

  std::atomic<Shapes> shapes;
};

/// Called with the dispatcher's lock held, so it can only take a note.
class Watcher final : public c10::OpRegistrationListener {
  struct Less {
    bool operator()(const c10::OperatorName &a,
                    const c10::OperatorName &b) const {
      return std::tie(a.name, a.overload_name) <
             std::tie(b.name, b.overload_name);
    }
  };

public:
  void onOperatorRegistered(const c10::OperatorHandle &op) override {
    auto space = op.operator_name().getNamespace();
    if (!space || *space == "aten" || *space == "prim" || *space == "torch_ltc")
      return;
    std::lock_guard lock(mutex);
    waiting.insert(op.operator_name());
    adoptNewOps.store(&adoptCustomOps, std::memory_order_release);
  }
  void onOperatorDeregistered(const c10::OperatorHandle &op) override {
    std::lock_guard lock(mutex);
    waiting.erase(op.operator_name());
    ended.insert(op.operator_name());
    if (auto *hook = onEnded.load(std::memory_order_acquire))
      hook();
  }

  void adopt() {
    std::lock_guard lock(adopting);
    while (std::optional<c10::OperatorName> name = next())
      adopt(*name);
  }

  void release() {
    std::lock_guard lock(adopting);
    std::set<c10::OperatorName, Less> names;
    {
      std::lock_guard lock(mutex);
      names.swap(ended);
    }
    for (const c10::OperatorName &name : names) {
      kernels.erase(name);
      releaseLowering(name);
      forgetOpInfo(name);
    }
  }

  std::atomic<void (*)()> onEnded{nullptr};

private:
  /// The note stays up until all have their kernels, so that no other thread
  /// calls one that has not.
  std::optional<c10::OperatorName> next() {
    std::lock_guard lock(mutex);
    if (waiting.empty()) {
      adoptNewOps.store(nullptr, std::memory_order_release);
      return std::nullopt;
    }
    c10::OperatorName name = waiting.extract(waiting.begin()).value();
    ended.erase(name);
    return name;
  }

  void adopt(const c10::OperatorName &name) {
    // Another op may have gone by this name before.
    kernels.erase(name);
    forgetOpInfo(name);
    auto &dispatcher = c10::Dispatcher::singleton();
    auto op = dispatcher.findSchema(name);
    if (!op)
      return;
    renewLowering(*op);
    if (op->hasKernelForDispatchKey(DispatchKey::Functionalize) ||
        op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd))
      return;
    std::optional<c10::KernelFunction> kernel;
    if (isOfFsdp(name))
      kernel = c10::KernelFunction::makeFromBoxedFunctor(
          std::make_unique<FsdpKernel>(*op));
    else if (!isPrim(name))
      kernel = writingKernel(*op);
    if (!kernel)
      kernel = c10::KernelFunction::makeFromBoxedFunctor(
          std::make_unique<CustomOpKernel>(*op));
    kernels.emplace(
        name, dispatcher.registerImpl(name, DispatchKey::Functionalize, *kernel,
                                      std::nullopt, nullptr, "torch_ltc"));
  }

  std::map<c10::OperatorName, c10::RegistrationHandleRAII, Less> kernels;
  std::mutex adopting; ///< guards `kernels`; the dispatcher's comes after it
  std::mutex mutex;    ///< guards the sets; the dispatcher's comes before it
  std::set<c10::OperatorName, Less> waiting, ended;
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

void releaseEndedOps() { watcher->release(); }

void setEndedOpsHook(void (*hook)()) {
  watcher->onEnded.store(hook, std::memory_order_release);
}

} // namespace ltc::backend
