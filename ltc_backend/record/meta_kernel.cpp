//===- record/meta_kernel.cpp - Meta kernels without Python ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/meta_kernel.h"

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/torch_private.h"

#include <c10/core/DefaultDtype.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::IValue;

/// While true, this thread's calls find no kernel of PyTorch's in Python.
static thread_local bool onlyCpp = false;

static bool isPyTorchsInPython(const c10::impl::AnnotatedKernel &kernel) {
  return kernel.debug.find("torch/_meta_registrations.py") != kernel.debug.npos;
}

/// What the dispatcher would find if PyTorch had none in Python: a kernel for
/// meta tensors, or one made of other ops. Invalid if there is nothing then.
static c10::KernelFunction kernelInCpp(const c10::OperatorHandle &op) {
  const KernelTable &table = kernelsOf(entryOf(op));
  for (DispatchKey key :
       {DispatchKey::Meta, DispatchKey::CompositeExplicitAutogradNonFunctional,
        DispatchKey::CompositeExplicitAutograd,
        DispatchKey::CompositeImplicitAutograd})
    if (auto found = table.find(key); found != table.end())
      for (const c10::impl::AnnotatedKernel &each : found->second)
        if (each.kernel.isValid() && !isPyTorchsInPython(each))
          return each.kernel;
  return {};
}

namespace {
/// In front of a kernel in Python; also for what other kernels call.
struct PastPython : KernelOverride {
  explicit PastPython(const c10::OperatorHandle &op)
      : KernelOverride(op, DispatchKey::Meta), inCpp(kernelInCpp(op)) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!onlyCpp)
      return stock.callBoxed(op, keys, stack);
    TORCH_CHECK_NOT_IMPLEMENTED(inCpp.isValid(), op.operator_name(),
                                " has no meta kernel in C++");
    inCpp.callBoxed(op, keys, stack);
  }

  c10::KernelFunction inCpp;
};

/// While it lives, onlyCpp is true for ops of PyTorch's and of ours. The
/// kernels of others may call whatever PyTorch has in Python.
struct OnlyCpp {
  explicit OnlyCpp(const std::string &op) {
    onlyCpp = op.starts_with("aten::") || op.starts_with("torch_ltc::");
  }
  ~OnlyCpp() { onlyCpp = before; }
  OnlyCpp(const OnlyCpp &) = delete;
  OnlyCpp &operator=(const OnlyCpp &) = delete;

private:
  bool before = onlyCpp;
};
} // namespace

void registerMetaKernels() {
  torch::Library *meta = makeLibrary("aten", DispatchKey::Meta);
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    const KernelTable &table = kernelsOf(entryOf(op));
    auto found = table.find(DispatchKey::Meta);
    if (found != table.end() && !found->second.empty() &&
        isPyTorchsInPython(found->second.front()))
      implementBoxed<PastPython>(*meta, name, op);
  });
}

/// Of full(), which goes by the number where no dtype is given.
static IValue dtypeOf(const IValue &number) {
  if (number.isBool())
    return c10::kBool;
  if (number.isInt())
    return c10::kLong;
  c10::ScalarType real = c10::get_default_dtype_as_scalartype();
  return number.isComplexDouble() ? c10::toComplexType(real) : real;
}

/// Turns a call that fills a new tensor into one of aten::empty, which has a
/// kernel in C++. False for other calls.
static bool asksForEmpty(const c10::OperatorHandle &op,
                         torch::jit::Stack &stack) {
  const c10::FunctionSchema &schema = op.schema();
  if (!opInfo(op).facts.has(OpFact::ShapedAsEmpty))
    return false;
  auto values = torch::jit::last(stack, schema.arguments().size());
  auto value = [&](const char *name) {
    return values[*schema.argumentIndexWithName(name)].toIValue();
  };
  IValue dtype = value("dtype");
  if (dtype.isNone() && schema.name() == "aten::full")
    dtype = dtypeOf(value("fill_value"));
  stack = {value("size"),   std::move(dtype),    value("layout"),
           value("device"), value("pin_memory"), /*memory_format=*/IValue()};
  return true;
}

bool lacksMetaKernel(const c10::OperatorHandle &op) {
  const KernelTable &table = kernelsOf(entryOf(op));
  auto found = table.find(DispatchKey::Meta);
  return found == table.end() ||
         std::ranges::all_of(found->second, [](const auto &kernel) {
           return isPyTorchsInPython(kernel) || kernel.debug == kRegisteredBy;
         });
}

void callMetaKernel(const c10::OperatorHandle &op, torch::jit::Stack &stack) {
  static const auto *empty =
      new c10::OperatorHandle(atenOp("empty", "memory_format"));
  static const auto *relu = new c10::OperatorHandle(atenOp("relu"));
  static const auto *clampMin = new c10::OperatorHandle(atenOp("clamp_min"));
  const c10::OperatorHandle *asked = &op;
  if (asksForEmpty(op, stack)) {
    asked = empty;
  } else if (op == *relu) { // which is that, on the CPU too
    stack.emplace_back(0);
    asked = clampMin;
  }
  OnlyCpp only(op.operator_name().name);
  asked->callBoxed(&stack);
}

} // namespace ltc::backend
