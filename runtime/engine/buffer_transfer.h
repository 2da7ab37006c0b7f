//===- buffer_transfer.h - Work that fills a buffer -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "engine/launch.h"

namespace ltc::runtime {

/// Fills a buffer of the device, which has memory and is not ready yet.
class Transfer : public Work {
public:
  Transfer(LaunchState &state, std::shared_ptr<Device> device,
           DeviceBufferPtr buffer)
      : device(std::move(device)), buffer(std::move(buffer)), state(state) {}

  Progress run(bool) final;
  /// While it waits for its source nothing that ran before is finished, which
  /// the source may wait for.
  bool mayOverlap() const final {
    return device->isAsynchronous() && isSourceReady();
  }
  bool isDone(std::chrono::nanoseconds time) final {
    return fence.reached(time);
  }
  bool succeeds() final;
  void takeBack() final;
  void finish() final;

protected:
  virtual bool isSourceReady() const { return true; }
  /// Waits for what is to be copied: why there is none.
  virtual FailurePtr awaitSource() { return nullptr; }
  /// Fills `buffer`, or has the device do so in the order of its queue. What
  /// that reads stays as long as this.
  virtual Status start() = 0;

  const std::shared_ptr<Device> device;
  DeviceBufferPtr buffer;

private:
  FailurePtr failureOf(Status status);
  void complete(FailurePtr failure);

  LaunchState &state;
  Fence fence;
  std::optional<Error> failed;
};

/// Copies host data to memory that the host cannot reach, or writes zeros.
class Upload final : public Transfer {
public:
  /// `from` is copied before it returns; nullptr is for zeros.
  Upload(LaunchState &state, std::shared_ptr<Device> device,
         DeviceBufferPtr buffer, const char *from);

private:
  Status start() override;

  const bool isZeros;
  std::vector<char> data;
};

/// Copies from another device's buffer: by their driver if it is the same one
/// and can, else by way of the host.
class DeviceCopy final : public Transfer {
public:
  DeviceCopy(LaunchState &state, std::shared_ptr<Device> device,
             DeviceBufferPtr buffer, DeviceBufferPtr from)
      : Transfer(state, std::move(device), std::move(buffer)),
        from(std::move(from)) {}

private:
  bool isSourceReady() const override { return from->completion->isDone(); }
  FailurePtr awaitSource() override;
  Status start() override;
  Status copyByHost();

  const DeviceBufferPtr from;
  HostMemory staging;
};

} // namespace ltc::runtime
