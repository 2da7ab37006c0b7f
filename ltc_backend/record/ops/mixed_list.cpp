//===- ops/mixed_list.cpp - Lists of tensors of several devices -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/mixed_list.h"

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/ops/packed_numbers.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace ltc::backend {
using c10::IValue;

static c10::ArrayRef<IValue> firstList(c10::ArrayRef<IValue> arguments) {
  auto list = std::ranges::find_if(
      arguments, [](const IValue &value) { return value.isTensorList(); });
  return list == arguments.end() ? c10::ArrayRef<IValue>() : list->toListRef();
}

bool isMixed(c10::ArrayRef<IValue> arguments) {
  auto list = firstList(arguments);
  return std::ranges::any_of(list, [&](const IValue &value) {
    return value.toTensor().device() != list[0].toTensor().device();
  });
}

bool areSideBySide(c10::ArrayRef<IValue> arguments) {
  size_t count = firstList(arguments).size();
  return std::ranges::all_of(arguments, [&](const IValue &value) {
    if (value.isTensor())
      return !value.toTensor().dim() ||
             size_t(value.toTensor().numel()) == count;
    return !value.isList() || value.toListRef().size() == count;
  });
}

torch::jit::Stack alone(c10::ArrayRef<IValue> arguments, size_t place) {
  torch::jit::Stack call;
  for (const IValue &value : arguments) {
    call.push_back(value);
    if (value.isTensor() && value.toTensor().dim())
      call.back() = value.toTensor().slice(0, place, place + 1);
    if (!value.isList())
      continue;
    c10::List<IValue> list = value.toList();
    c10::impl::GenericList one(list.elementType());
    one.push_back(list.get(place));
    call.back() = one;
  }
  return call;
}

namespace {
struct MixedListKernel final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (calledWithNumbers(op, *stack))
      return;
    size_t count = op.schema().arguments().size();
    auto arguments = torch::jit::last(*stack, count);
    if (!isMixed(arguments) || !areSideBySide(arguments))
      return stock.callBoxed(op, keys, stack);
    std::vector<IValue> all = torch::jit::pop(*stack, count);
    c10::List<at::Tensor> results;
    for (size_t i = 0; i < firstList(all).size(); ++i) {
      torch::jit::Stack call = alone(all, i);
      op.callBoxed(&call);
      results.append(call.back().toTensorList());
    }
    stack->emplace_back(std::move(results));
  }
};
} // namespace

void registerMixedList(torch::Library &library, const char *name,
                       const c10::OperatorHandle &op) {
  implementBoxed<MixedListKernel>(library, name, op);
}

} // namespace ltc::backend
