//===- thread_choice.h - One thread, or all, for a program ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While the queue runs one step, the user's thread records the next. A short
// program that wakes the whole pool then has more threads than cores, and a
// barrier waits for whichever is not running: on 2 cores a 0.3 ms step took
// up to 18 ms. So a program first runs on the queue's own thread, is measured
// there, and uses the pool only when it is long enough to gain from it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace ltc::runtime {

/// Used by the queue's thread alone.
class ThreadChoice {
public:
  using Time = std::chrono::nanoseconds;

  bool alone() const { return runs < kMeasured || shortest < kLong; }
  bool isMeasuring() const { return runs < kMeasured; }
  /// Tells what one run alone took.
  void record(Time time) {
    shortest = runs++ == 0 ? time : std::min(shortest, time);
  }
  /// CPU time of the calling thread: waiting for a core does not count.
  static Time now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Time(time.tv_nsec);
  }

private:
  static constexpr int kMeasured = 2; ///< the first run also meets cold caches
  static constexpr Time kLong = std::chrono::milliseconds(1);
  int runs = 0;
  Time shortest{};
};

} // namespace ltc::runtime
