//===- wait_habit.h - What runs beside a program ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/buffer.h"

#include <algorithm>

namespace ltc::runtime {

/// How long the user's thread went on, each of the last times, after launching
/// a program, until it waited for that or had the next launch ready. Used under
/// the queue's lock.
class WaitHabit {
public:
  using Duration = Completion::Clock::duration;

  /// Tells of the program's next run, and how long after the launch before it
  /// that was ready, of whichever program.
  void add(std::shared_ptr<Completion> next,
           Duration sinceLaunch = Duration::max()) {
    if (last) {
      before = latest;
      latest = {sinceLaunch, last->untilAwaited()};
    }
    last = std::move(next);
  }
  /// A number read now and then is no habit: the longer one of two times.
  Duration untilWaiting() const {
    return std::max(latest.awaited, before.awaited);
  }
  Duration beside() const { return std::max(latest.either(), before.either()); }

private:
  struct Times {
    Duration next = Duration::max(), awaited = Duration::max();
    Duration either() const { return std::min(next, awaited); }
  } latest, before;
  std::shared_ptr<Completion> last;
};

} // namespace ltc::runtime
