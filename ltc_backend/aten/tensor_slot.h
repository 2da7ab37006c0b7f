//===- tensor_slot.h - A reusable tensor over borrowed memory ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// A tensor over the memory of `view`, which it does not own and which is on
/// that device. A kernel that resizes it gets memory of its own for it.
at::Tensor borrow(const KernelView &view, at::Device device = at::kCPU);

/// One operand or result of a kernel as a tensor that owns no memory. It is
/// made once and pointed at other memory for each run, which costs some 10 ns
/// where a new tensor costs 200. One thread at a time.
class TensorSlot {
public:
  explicit TensorSlot(at::Device device) : device(device) {}

  /// The tensor over `view`, valid until the next call.
  const at::Tensor &point(const KernelView &view);
  /// False when a kernel resized the tensor or gave it other memory.
  bool isStill(const KernelView &view) const;

private:
  at::Device device;
  at::Tensor tensor;
};

/// "f32[8, 512]"; "scalar f64 0.5" for a scalar.
std::string describe(const KernelView &view);

} // namespace ltc::backend
