//===- placement.h - Lets ATen allocate where a result belongs --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions, attention and others return tensors that they allocate with
// at::empty, or by cloning an operand. Between allocation and return nobody
// cares where that memory is, so it may be the result's own: this saves the
// copy and the page faults of fresh memory. A dispatch key that PyTorch keeps
// for modes, and that is on for the calling thread only, brings at::empty and
// at::empty_strided here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {

/// Registers with the dispatcher. Once, before the first kernel runs.
void installPlacement();

/// While it lives, at::empty and its like on this thread hands out the memory
/// of each dense result once, to the first that asks for its type and for its
/// shape, or for one that differs by dimensions of one element: a convolution
/// over one dimension computes with two. That may be a temporary or another
/// result: compare addresses afterwards.
class Placement {
public:
  Placement(std::span<const KernelView> results, at::Device device);
  ~Placement();
  Placement(const Placement &) = delete;
  Placement &operator=(const Placement &) = delete;

  /// Whether results are on the device that a call asks for memory of.
  bool isOn(at::Device wanted) const {
    return wanted.type() == device.type() &&
           (!wanted.has_index() || wanted.index() == device.index() ||
            device.is_cpu());
  }
  /// The result's memory as a tensor of these sizes, or undefined.
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType dtype);
  /// The placement in force on this thread, or nullptr.
  static Placement *current();

private:
  /// The first free one of that type whose sizes fit.
  template <typename Fits>
  at::Tensor takeIf(at::ScalarType dtype, const Fits &fits);

  std::span<const KernelView> results;
  const at::Device device;
  uint64_t taken = 0; ///< a bit for each of the first 64 results
  Placement *outer;
  std::optional<c10::impl::IncludeDispatchKeyGuard> key;
};

} // namespace ltc::backend
