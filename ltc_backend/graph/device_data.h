//===- graph/device_data.h - Memory on the device ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/backend/backend_data.h>

namespace ltc::backend {

/// Owns a share of a device buffer that is ready now or later. Immutable once
/// it has a buffer, but for the scratch fields.
class DeviceData final : public torch::lazy::BackendData {
public:
  DeviceData(int64_t device, torch::lazy::Shape shape, BufferPtr buffer);

  Handle GetHandle() override { return reinterpret_cast<Handle>(this); }
  void Assign(const torch::lazy::BackendData &other) override;
  bool HasValue() const override { return buffer != nullptr; }

  BufferPtr buffer;
  /// Later data has a greater number.
  const uint64_t made;
  static uint64_t lastMade();
  /// What the program said of its dimensions. Under the pending list's lock.
  std::vector<std::pair<uint32_t, DimMark::Kind>> marks;
  /// Scratch of the collector, under the pending list's lock.
  uint32_t inputIndex = UINT32_MAX;
};

/// Copies a CPU tensor of any layout to the device.
std::shared_ptr<DeviceData> upload(const at::Tensor &cpu, int64_t device);
/// The data of a live tensor, which a sync computes first if it is pending.
std::shared_ptr<DeviceData> readyData(const at::Tensor &tensor);
/// Waits for the data, looking at signals, and copies it into a new CPU tensor.
at::Tensor download(const DeviceData &data);

} // namespace ltc::backend
