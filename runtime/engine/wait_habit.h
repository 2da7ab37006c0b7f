//===- wait_habit.h - Whether a program's results are awaited ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/buffer.h"

#include <algorithm>

namespace ltc::runtime {

/// Whether the user's thread waits for a program as soon as it has launched it,
/// as it did the last times. Used under the queue's lock.
class WaitHabit {
public:
  /// Tells of the program's next run.
  void add(std::shared_ptr<Completion> next) {
    if (last)
      waits = last->isAwaitedWithin(kSoon) ? std::min(waits + 1, kWaits) : 0;
    last = std::move(next);
  }
  bool holds() const { return waits == kWaits; }

private:
  static constexpr int kWaits = 2; ///< a number read now and then is no habit
  /// Less than any step takes to record.
  static constexpr auto kSoon = std::chrono::microseconds(20);
  int waits = 0;
  std::shared_ptr<Completion> last;
};

} // namespace ltc::runtime
