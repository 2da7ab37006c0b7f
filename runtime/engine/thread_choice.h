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
// there, and uses the pool only when it is long enough to gain from it, or
// longer than what the user's thread does beside it. A very short one is not
// worth the queue's thread either, nor is a short one for which the user's
// thread waits at once, or has the next launch ready while there is no pool.
// Neither is one of up to a millisecond for which the pool waits, with next to
// nothing to run beside it: the launching thread then runs it with the pool.
//
// Our loops give the same bits on any number of threads. A library's kernels
// may split a sum among them, so that a time would decide about rounding, and
// a script would differ from itself. A program that calls them therefore gets
// its threads by what it is expected to take, which its shapes say.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

namespace ltc::runtime {

/// What is expected of the thread that launches a program: for how long it goes
/// on until it waits, and until it does that or launches again.
struct Launcher {
  using Time = std::chrono::nanoseconds;
  Time untilWaiting = Time::max(), beside = Time::max();
};

/// The threads that a program could run on beside its own.
enum class Pool {
  None,
  Asleep, ///< or used by a library: whoever runs the queue's work can call them
  Waiting, ///< for the next loop, whoever runs it
};

/// Used by one thread at a time: whoever runs the queue's work.
class ThreadChoice {
public:
  using Time = Launcher::Time;
  struct Times {
    Time cpu;  ///< of the calling thread: waiting for a core does not count
    Time wall; ///< in which a device may work and the thread does not
  };

  explicit ThreadChoice(std::optional<Time> expected = std::nullopt)
      : expected(expected) {}

  /// Whether to keep to one thread, on the queue's.
  bool alone(Launcher launcher = {}) const {
    if (expected)
      return *expected < kLongCalls;
    Time cpu = shortest.cpu;
    return runs < kMeasured || cpu < kShared ||
           (cpu < kLong && cpu / 2 < launcher.beside);
  }
  /// Whether to run on the thread that launches it.
  bool isShort(Launcher launcher = {}, Pool pool = Pool::Asleep) const {
    if (splits(launcher, pool))
      return true;
    bool maySplit =
        pool != Pool::None && !expected && launcher.untilWaiting >= kSoon;
    Time limit = launcher.beside >= kSoon ? kShort
                 : maySplit               ? kShared
                                          : kShortIfLonely;
    return runs >= kMeasured && alone() && shortest.wall < limit;
  }
  /// Whether that thread takes the pool's to help.
  bool splits(Launcher launcher, Pool pool) const {
    return pool == Pool::Waiting && !expected && !alone(launcher) &&
           shortest.cpu < kLong && launcher.beside < kSoon;
  }
  bool isMeasuring(Launcher launcher = {}) const {
    return alone(launcher) && runs < kMeasuredIfAlone;
  }
  /// Tells when one run alone began and ended.
  void record(Times begin, Times end) {
    Times took{end.cpu - begin.cpu, end.wall - begin.wall};
    shortest = runs++ == 0 ? took
                           : Times{std::min(shortest.cpu, took.cpu),
                                   std::min(shortest.wall, took.wall)};
  }
  static Times now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return {std::chrono::seconds(time.tv_sec) + Time(time.tv_nsec),
            std::chrono::steady_clock::now().time_since_epoch()};
  }

private:
  static constexpr int kMeasured = 2; ///< the first run also meets cold caches
  static constexpr int kMeasuredIfAlone = 8; ///< wall time on a busy machine
  static constexpr Time kLong = std::chrono::milliseconds(1);
  /// Of programs that call a library: expected, not measured.
  static constexpr Time kLongCalls = std::chrono::microseconds(500);
  /// Less than it takes to wake a thread and to be woken by it.
  static constexpr Time kSoon = std::chrono::microseconds(20);
  /// What two threads gain from that wait for the next loop anyway: half of it
  /// is more than it costs them to meet, with what memory goes to and fro.
  static constexpr Time kShared = std::chrono::microseconds(12);
  /// What it costs in all to wake a thread and to be woken by it, with the
  /// memory that goes from one core to the other and back.
  static constexpr Time kShort = std::chrono::microseconds(30);
  /// What it costs at most when it is not so after all: so much does not run
  /// beside the recording of the next step.
  static constexpr Time kShortIfLonely = std::chrono::microseconds(100);
  std::optional<Time> expected;
  int runs = 0;
  Times shortest{};
};

} // namespace ltc::runtime
