//===- interrupts.h - Programs that the user wants to end -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <chrono>

namespace ltc {

/// Notes that the user has given up a wait (Ctrl-C). Any thread.
LTC_API void noteInterrupt();
/// `isWanted` says whether the calling thread would be interrupted now. It
/// stays for good.
LTC_API void setInterruptCheck(bool (*isWanted)());

/// Of a loop that may run for long. One thread.
class InterruptWatch {
public:
  using Clock = std::chrono::steady_clock;
  InterruptWatch() : begin(Clock::now()), next(begin + kEach) {}

  /// Whether the loop is to end: a while after an interrupt, so that what is
  /// soon done is not lost. To be asked in each turn.
  bool isOver() {
    Clock::time_point now = Clock::now();
    return now >= next && check(now);
  }

private:
  static constexpr std::chrono::milliseconds kEach{50}, kGrace{500};
  LTC_API bool check(Clock::time_point now);

  Clock::time_point begin, next;
  std::optional<Clock::time_point> wanted;
};

} // namespace ltc
