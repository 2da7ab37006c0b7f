//===- packing_habit.h - How panels for several threads are packed --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of memory that another core has read is taken back from it before it
// is written: among cores of one third-level cache in 5 to 12 ns, between those
// of two in 25 to 40 (a virtual EPYC, many lines under way at a time). Then
// panels are better written past the caches, from where all threads read them:
// packing takes a third to a half of the time, and the product on 512 to 1024
// rows 0.90 to 0.96. Near cores would lose 1 % by it. Which ones they are is
// told by the time, again and again, since a virtual machine's change. No value
// depends on it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <cstdint>

namespace ltc::kernels {

/// Made thread_local, by the thread that shares its loops.
class PackingHabit {
public:
  using Clock = std::chrono::steady_clock;

  /// Whether the next panels are to be streamed; if not, packed() is told.
  bool streams() {
    if (streamed == 0)
      return false;
    --streamed;
    return true;
  }
  /// Packing through the caches took so long, of as many cache lines on each
  /// thread.
  void packed(int64_t lines, Clock::duration took) {
    if (lines >= kTellingLines && took > lines * kFar)
      streamed = kStreamed;
  }

  static constexpr std::chrono::nanoseconds kFar{18};
  /// Of fewer, starting the threads takes much of the time.
  static constexpr int64_t kTellingLines = 1024;
  static constexpr int kStreamed = 31; ///< so often before the next measurement

private:
  int streamed = 0; ///< so often still
};

} // namespace ltc::kernels
