//===- writes/lost_gradient.h - Gradients that will never come --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is lost if its value will never come: it failed, or is computed
// from one that did, and somebody knows. Tensors that had a value before a step
// that failed have it back; a gradient that had none must not stay, since the
// next backward() would add to what never came.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Sets the gradient of `leaf` to None if it is lost. Does nothing to a tensor
/// that is not a leaf of a lazy device. Only of a thread that recordsAlone():
/// PyTorch frees a gradient that is set to None before the tensor forgets it,
/// and lets other threads run meanwhile.
LTC_API void dropLostGradient(const at::Tensor &leaf);

void zeroLostGradient(const at::Tensor &self);
/// Of an op that writes to `self`: if that is a backward() that adds to a lost
/// gradient, the gradient becomes zeros first. Any thread.
inline void beforeWrite(const at::Tensor &self) {
  if (anyFailure.load(std::memory_order_relaxed)) [[unlikely]]
    zeroLostGradient(self);
}

} // namespace ltc::backend
