//===- mark.h - A place in a device's queue ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "engine/launch.h"

namespace ltc::runtime {

/// What a marker's owner sees of it. On an asynchronous device it is a fence.
class Mark final : public Marker {
public:
  bool waitFor(std::chrono::milliseconds limit) override {
    return completion.waitFor(limit);
  }
  std::chrono::steady_clock::time_point time() const override { return when; }
  /// By the device's clock; nothing if it has none, or `start` is another's.
  std::optional<double> secondsSince(const Mark &start) const {
    return fence.secondsSince(start.fence);
  }

private:
  friend class ReachMark;
  // Written before `completion` is done.
  Fence fence;
  std::chrono::steady_clock::time_point when;
  Completion completion;
};

/// Puts the mark behind what was pushed before.
class ReachMark final : public Work {
public:
  ReachMark(LaunchState &state, std::shared_ptr<Device> device,
            std::shared_ptr<Mark> mark)
      : state(state), device(std::move(device)), mark(std::move(mark)) {}

  Progress run(bool) override;
  bool mayOverlap() const override {
    return device->isAsynchronous() && !isAlone;
  }
  bool isDone(std::chrono::nanoseconds time) override {
    return mark->fence.reached(time);
  }
  void takeBack() override;
  void finish() override;

private:
  void reach();

  LaunchState &state;
  const std::shared_ptr<Device> device;
  const std::shared_ptr<Mark> mark;
  bool isAlone = false; ///< there is no fence for it
};

} // namespace ltc::runtime
