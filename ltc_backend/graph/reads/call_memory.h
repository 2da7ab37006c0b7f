//===- reads/call_memory.h - Device memory in a call's hands ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library, such as the one that carries collectives, takes tensors of one
// place: of the CPU, where it reads and writes the device's own memory if that
// has an address there, or of PyTorch's "cuda". Else it has a copy, which goes
// by way of the host only if it has to.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

struct CallMemory {
  /// Row-major, in that place. Keeps the memory, and says nothing of its
  /// owners.
  at::Tensor tensor;
  /// What has the memory, which no launch takes while this is held; null if
  /// `tensor` is a copy.
  std::shared_ptr<DeviceData> data;
};

/// Computes what is pending of these functional lazy tensors, in one graph.
void computeAll(c10::ArrayRef<at::Tensor> tensors);
/// Computes those of the tensors that are lazy, and waits for their values, of
/// which each may raise what its graph raised.
LTC_API void awaitValues(const std::vector<at::Tensor> &tensors);
/// The tensor's value, which nobody may write to. Waits for it, and raises what
/// its graph raised.
CallMemory memoryOf(const at::Tensor &tensor, at::Device place);
/// The same to write to: the tensor's own memory if nobody else can reach it,
/// or a copy.
CallMemory memoryToWrite(const at::Tensor &tensor, at::Device place);
/// Memory of the tensor's type with any contents.
CallMemory freshMemory(const at::Tensor &tensor, at::Device place);

/// What has been written to the memory, as a bare tensor: the tensor's value
/// from now on. Nobody else writes to the memory any more.
at::Tensor nextValue(const at::Tensor &tensor, const CallMemory &memory);

} // namespace ltc::backend
