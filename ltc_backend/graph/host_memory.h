//===- graph/host_memory.h - Device memory in a call's hands ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library on the host, such as the one that carries collectives, reads and
// writes the device's own memory where it has an address, and a copy where it
// has none.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

struct HostMemory {
  /// Row-major, on the CPU. Keeps the memory, and says nothing of its owners.
  at::Tensor cpu;
  /// What has the memory, which no launch takes while this is held; null if
  /// the host does not reach it, and `cpu` is a copy.
  std::shared_ptr<DeviceData> data;
};

/// Computes what is pending of these functional lazy tensors, in one graph.
void computeAll(c10::ArrayRef<at::Tensor> tensors);
/// The tensor's value, which nobody may write to. Waits for it, and raises what
/// its graph raised.
HostMemory memoryOf(const at::Tensor &tensor);
/// The same to write to: the tensor's own memory if nobody else can reach it,
/// or a copy.
HostMemory memoryToWrite(const at::Tensor &tensor);
/// Memory of the tensor's type with any contents.
HostMemory freshMemory(const at::Tensor &tensor);

/// What has been written to the memory, as a bare tensor: the tensor's value
/// from now on. Nobody else writes to the memory any more.
at::Tensor nextValue(const at::Tensor &tensor, const HostMemory &memory);

} // namespace ltc::backend
