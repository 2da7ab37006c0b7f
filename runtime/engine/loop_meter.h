//===- loop_meter.h - Who waits for whom in a loop --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that is launched again and again stands for a loop. Once it has
// settled, the time that the queue has nothing to do is measured over some
// launches: its share of the wall time is what an infinitely fast host would
// save, and the rest is what an infinitely fast device would. The larger of the
// two names the loop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cycles.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace ltc::runtime {

/// What a LoopMeter keeps of one program.
struct LoopWindow {
  CycleClock::time_point start;
  CycleClock::duration idleBefore{};
  uint64_t buildsBefore = 0;
  int launches = 0;
};

struct LoopPace {
  double idleShare = 0; ///< of the wall time, 0 to 1
  CycleClock::duration step{};
  bool isHostBound() const { return idleShare > 0.5; }
};

/// Used by one thread at a time: whoever runs the queue's work.
class LoopMeter {
public:
  using Clock = CycleClock;

  /// The first launches meet cold caches and choose their threads.
  static constexpr int kSettled = 10, kMeasured = 32;

  /// A program starts to run. `builds` counts graphs that were compiled or
  /// loaded: a window with one of them in it is no steady loop. Returns the
  /// pace once a loop, for the program of it that gets there first.
  std::optional<LoopPace> begin(LoopWindow &window, Clock::time_point now,
                                uint64_t builds) {
    if (ended)
      idle += now - *ended;
    if (window.launches <= kSettled + kMeasured) // or weeks would overflow it
      ++window.launches;
    if (window.launches > kSettled && window.buildsBefore != builds)
      window.launches = 1;
    if (window.launches == kSettled || window.launches == 1) {
      window.start = now;
      window.idleBefore = idle;
      window.buildsBefore = builds;
    }
    if (window.launches != kSettled + kMeasured)
      return std::nullopt;
    // Launched in between those of one that was told: the same loop.
    if (told && window.start < *told)
      return std::nullopt;
    told = now;
    auto wall = now - window.start;
    return LoopPace{double((idle - window.idleBefore).count()) /
                        double(std::max<int64_t>(wall.count(), 1)),
                    wall / kMeasured};
  }
  void end(Clock::time_point now) { ended = now; }

private:
  std::optional<Clock::time_point> ended, told;
  Clock::duration idle{};
};

} // namespace ltc::runtime
