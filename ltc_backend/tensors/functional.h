//===- tensors/functional.h - What a functional tensor is -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

namespace ltc::backend {

/// A functional wrapper that says it is on the device, of a fake tensor or
/// another subclass of Python's: PyTorch's own kernels have to do with it.
inline bool wrapsSubclass(const at::Tensor &functional) {
  return static_cast<const at::FunctionalTensorWrapper *>(
             functional.unsafeGetTensorImpl())
      ->value()
      .key_set()
      .has(c10::DispatchKey::Python);
}

inline bool saysFunctionalLazy(const at::Tensor &tensor) {
  constexpr c10::DispatchKeySet ours{c10::DispatchKey::Functionalize,
                                     c10::DispatchKey::Lazy};
  return tensor.key_set().has_all(ours);
}

inline bool isFunctionalLazy(const at::Tensor &tensor) {
  return saysFunctionalLazy(tensor) && !wrapsSubclass(tensor);
}

/// Whether a lazy tensor in its functional wrapper is among the arguments.
inline bool hasFunctionalLazy(c10::ArrayRef<c10::IValue> arguments) {
  auto isOne = [](const at::Tensor &tensor) {
    return tensor.defined() && isFunctionalLazy(tensor);
  };
  return std::ranges::any_of(arguments, [&](const c10::IValue &value) {
    if (value.isTensor())
      return isOne(value.toTensor());
    return value.isTensorList() &&
           std::ranges::any_of(value.toTensorVector(), isOne);
  });
}

/// Whether the functional tensor is no view, and has none.
inline bool isAlone(const at::Tensor &tensor) {
  auto *wrapper =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor);
  return wrapper->isBaseTensor() && wrapper->unsafe_storage().use_count() == 1;
}

/// The bits of views that show conjugates or negatives (views/math_bits.h).
constexpr c10::DispatchKeySet kMathBits{c10::DispatchKey::Conjugate,
                                        c10::DispatchKey::Negative};

inline bool hasMathBits(const at::Tensor &tensor) {
  return tensor.defined() && tensor.key_set().has_any(kMathBits);
}

/// Whether its value can be taken as it is inside.
inline bool isPlain(const at::Tensor &tensor) {
  return isFunctionalLazy(tensor) && !hasMathBits(tensor);
}

} // namespace ltc::backend
