//===- tensors/device_data.h - Memory on the device -------------*- C++ -*-===//
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

class DeviceData;

/// The values that a launch replaces. It lives until that has succeeded, or as
/// long as the results of one that failed.
struct Replaced {
  std::vector<std::shared_ptr<DeviceData>> values;
};

/// Owns a share of a device buffer that is ready now or later. Immutable once
/// it has a buffer, but for what the pending list's lock guards.
class DeviceData final : public torch::lazy::BackendData {
public:
  DeviceData(int64_t device, torch::lazy::Shape shape, BufferPtr buffer);
  /// Values that the host has computed, dense and row-major. They have a buffer
  /// once somebody asks for it.
  DeviceData(int64_t device, at::Tensor values);

  Handle GetHandle() override { return reinterpret_cast<Handle>(this); }
  void Assign(const torch::lazy::BackendData &other) override;
  bool HasValue() const override { return memory || values.defined(); }

  /// Any thread.
  const BufferPtr &buffer() const {
    if (!hasBuffer()) [[unlikely]]
      makeBuffer();
    return memory;
  }
  /// Whether somebody has asked for it, or it came first.
  bool hasBuffer() const { return madeBuffer.load(std::memory_order_acquire); }
  /// Later data has a greater number.
  const uint64_t made;
  static uint64_t lastMade();
  // The rest is guarded by the pending list's lock.
  /// What the program said of its dimensions.
  std::vector<std::pair<uint32_t, DimMark::Kind>> marks;
  /// What its launch replaces, while that has not succeeded.
  std::weak_ptr<Replaced> replaced;
  /// Which of those the tensor had, or kNoPlace. Once the launch has failed,
  /// and somebody knows, it is `before`.
  uint32_t place = kNoPlace;
  static constexpr uint32_t kNoPlace = UINT32_MAX;
  std::shared_ptr<DeviceData> before;
  /// What has the same buffer and came first. It is held for its count, which
  /// says whether anybody else can reach the buffer.
  std::shared_ptr<DeviceData> first;
  /// A launch that leaves the buffer alone may give it back to a tensor. Not
  /// forgotten when that launch has ended: whether a buffer can be donated, and
  /// so a graph's key, must not depend on how fast launches are.
  bool mayComeBack = false;
  /// PyTorch's number of the tensor that has it, once that was asked for.
  int64_t tensorId = -1;
  /// Scratch of the collector: number as an input, and shares in it of those
  /// whose values are collected.
  uint32_t inputIndex = UINT32_MAX;
  long shares = 0;
  /// A CPU tensor that owns the same values, where there is one. Until there is
  /// a buffer it is the constructor's, and guarded by nothing.
  at::Tensor values;

private:
  void makeBuffer() const;

  mutable std::atomic<bool> madeBuffer;
  mutable BufferPtr memory;
};

/// Data of its own with the same buffer. With the pending list's lock.
std::shared_ptr<DeviceData> sharing(const std::shared_ptr<DeviceData> &data);
/// What holds the buffer's only share if nobody else can reach it.
inline const std::shared_ptr<DeviceData> &
firstOf(const std::shared_ptr<DeviceData> &data) {
  return data->first ? data->first : data;
}

/// The same buffer for a tensor that had the value `old`. With the pending
/// list's lock.
std::shared_ptr<DeviceData> inPlaceOf(std::shared_ptr<DeviceData> old,
                                      const std::shared_ptr<DeviceData> &data);

/// What stands for the data: it itself, or if it failed and somebody knows, the
/// newest value from before that did not. With the pending list's lock.
std::shared_ptr<DeviceData> standing(std::shared_ptr<DeviceData> data);

/// Copies a CPU tensor of any layout to the device.
std::shared_ptr<DeviceData> upload(const at::Tensor &cpu, int64_t device);
} // namespace ltc::backend
