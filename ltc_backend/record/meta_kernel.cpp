//===- record/meta_kernel.cpp - Meta kernels without Python ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/meta_kernel.h"

#include "ltc_backend/record/op_info.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/torch_private.h"

#include <c10/core/DefaultDtype.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::IValue;

/// PyTorch's in C++, if what the dispatcher would find is PyTorch's in Python.
static const c10::KernelFunction *
kernelBehindPython(const c10::OperatorHandle &op) {
  const KernelTable &table = kernelsOf(entryOf(op));
  auto found = table.find(DispatchKey::Meta);
  if (found == table.end() || found->second.size() != 2)
    return nullptr;
  const auto &python = found->second.front(), &behind = found->second.back();
  bool isPyTorchs =
      python.debug.find("torch/_meta_registrations.py") != std::string::npos;
  return isPyTorchs && behind.kernel.isValid() ? &behind.kernel : nullptr;
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

bool isMetaInPython(const c10::OperatorHandle &op) {
  const KernelTable &table = kernelsOf(entryOf(op));
  auto found = table.find(DispatchKey::Meta);
  return found != table.end() && !found->second.empty() &&
         found->second.front().debug.find(".py") != std::string::npos &&
         !kernelBehindPython(op);
}

bool lacksMetaKernel(const c10::OperatorHandle &op) {
  // Which has one in Python only.
  static const auto *convolution =
      new c10::OperatorHandle(atenOp("convolution"));
  return !convolution->hasKernelForDispatchKey(DispatchKey::Meta) &&
         !op.hasKernelForDispatchKey(DispatchKey::Meta);
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
  if (const c10::KernelFunction *kernel = kernelBehindPython(*asked))
    kernel->callBoxed(*asked, c10::DispatchKeySet(DispatchKey::Meta), &stack);
  else
    asked->callBoxed(&stack);
}

} // namespace ltc::backend
