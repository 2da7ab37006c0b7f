//===- under_transform.h - Who sees each op of a call -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether someone differentiates forward, transforms or watches: a function of
/// our own for autograd would be in the way.
inline bool isUnderTransform(const at::Tensor &tensor) {
  constexpr c10::DispatchKeySet keys{c10::DispatchKey::FuncTorchGradWrapper,
                                     c10::DispatchKey::FuncTorchBatched,
                                     c10::DispatchKey::Python};
  return tensor.key_set().has_any(keys) || tensor._fw_grad(0).defined();
}

} // namespace ltc::backend
