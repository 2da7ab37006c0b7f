//===- wait_habit.h - Whether anything runs beside a program ----*- C++ -*-===//
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
/// or has the next launch ready as soon, as it did the last times: then hardly
/// anything runs beside it. Used under the queue's lock.
class WaitHabit {
public:
  /// Less than it takes to wake a thread and to be woken by it.
  static constexpr auto kSoon = std::chrono::microseconds(20);

  /// Tells of the program's next run, and whether it follows that soon on the
  /// launch before it.
  void add(std::shared_ptr<Completion> next, bool follows = false) {
    if (last)
      waits = follows || last->isAwaitedWithin(kSoon)
                  ? std::min(waits + 1, kWaits)
                  : 0;
    last = std::move(next);
  }
  bool holds() const { return waits == kWaits; }

private:
  static constexpr int kWaits = 2; ///< a number read now and then is no habit
  int waits = 0;
  std::shared_ptr<Completion> last;
};

} // namespace ltc::runtime
