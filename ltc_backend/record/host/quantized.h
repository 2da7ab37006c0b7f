//===- host/quantized.h - Quantized tensors of a lazy device ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are PyTorch's too, and their memory is the host's: a tensor of the CPU
// and one of a lazy device show the same, so that views are views in both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// A tensor of a lazy device in the memory of the CPU's. If `like`, which is on
/// that device, shows it too, they share a storage.
at::Tensor quantizedOn(c10::Device device, const at::Tensor &cpu,
                       c10::ArrayRef<at::Tensor> like);
/// The tensor of the CPU in the memory of a lazy device's.
at::Tensor quantizedOnHost(const at::Tensor &tensor);

/// Lets a lazy tensor show what the CPU's does, once a call has changed that.
void assignQuantized(const at::Tensor &tensor, const at::Tensor &cpu);

} // namespace ltc::backend
