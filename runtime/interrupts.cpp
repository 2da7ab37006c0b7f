//===- interrupts.cpp - Programs that the user wants to end ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/interrupts.h"

#include <atomic>

namespace ltc {

static std::atomic<InterruptWatch::Clock::rep> lastInterrupt{0};
static std::atomic<bool (*)()> interruptCheck{nullptr};

void noteInterrupt() {
  lastInterrupt = InterruptWatch::Clock::now().time_since_epoch().count();
}

void setInterruptCheck(bool (*isWanted)()) { interruptCheck = isWanted; }

bool InterruptWatch::check(Clock::time_point now) {
  next = now + kEach;
  Clock::time_point last{Clock::duration(lastInterrupt)};
  auto isWanted = interruptCheck.load();
  if (!wanted && last > begin)
    wanted = last;
  if (!wanted && isWanted && isWanted())
    wanted = now;
  return wanted && now - *wanted >= kGrace;
}

} // namespace ltc
