//===- wait_habit.h - What runs beside a program ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/buffer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ltc::runtime {

/// How long the user's thread went on, the last times, after launching a
/// program, until it waited for that or had the next launch ready. Used under
/// the queue's lock.
class WaitHabit {
public:
  using Duration = Completion::Clock::duration;

  /// Tells of the program's next run, and how long after the launch before it
  /// that was ready, of whichever program.
  void add(std::shared_ptr<Completion> next,
           Duration sinceLaunch = Duration::max()) {
    if (last) {
      awaitedBefore = std::exchange(awaited, last->untilAwaited());
      times[count++ % times.size()] = std::min(sinceLaunch, awaited);
    }
    last = std::move(next);
  }
  /// A number read now and then is no habit: the longer one of two times.
  Duration untilWaiting() const { return std::max(awaited, awaitedBefore); }
  /// The middle one of the last times: with all cores at work, now and then the
  /// user's thread has to wait for one.
  Duration beside() const {
    auto sorted = times;
    auto middle = sorted.begin() + sorted.size() / 2;
    std::ranges::nth_element(sorted, middle);
    return *middle;
  }

private:
  static constexpr Duration kNever = Duration::max();
  Duration awaited = kNever, awaitedBefore = kNever;
  std::array<Duration, 5> times{kNever, kNever, kNever, kNever, kNever};
  size_t count = 0;
  std::shared_ptr<Completion> last;
};

} // namespace ltc::runtime
