//===- record/no_grad.cpp - Calls that autograd has no part in ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/no_grad.h"

#include "ltc_backend/library.h"

#include <ATen/core/grad_mode.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::DispatchKeySet;

AutogradOverride::AutogradOverride(const c10::OperatorHandle &op)
    : KernelOverride(op, DispatchKey::AutogradLazy), op(op),
      current(entryOf(op).lookup(DispatchKeySet(DispatchKey::AutogradIPU))) {}

bool AutogradOverride::isStock() const {
  return current._equalsBoxedAndUnboxed(stock);
}

bool isFunctionalisedNext(DispatchKeySet keys) {
  return (keys & c10::after_autograd_keyset).highestPriorityTypeId() ==
         DispatchKey::Functionalize;
}

bool isTracked(const at::Tensor &tensor) {
  if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->autograd_meta())
    return false;
  return (at::GradMode::is_enabled() && tensor.requires_grad()) ||
         tensor._fw_grad(/*level=*/0).defined();
}

bool isTracked(const at::ITensorListRef &tensors) {
  return std::any_of(
      tensors.begin(), tensors.end(),
      [](const at::Tensor &tensor) { return isTracked(tensor); });
}

bool isLeftToAutograd(const c10::OperatorHandle &op) {
  return op.hasKernelForDispatchKey(DispatchKey::Autograd) &&
         !op.hasKernelForDispatchKey(DispatchKey::AutogradLazy);
}

torch::Library &autogradLibrary() {
  static torch::Library *library =
      makeLibrary("aten", DispatchKey::AutogradLazy);
  return *library;
}

} // namespace ltc::backend
