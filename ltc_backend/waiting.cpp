//===- waiting.cpp - Waits for the device ---------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/waiting.h"

#include "ltc/interrupts.h"
#include "ltc/syncs.h"

#include <atomic>

namespace ltc::backend {

static std::atomic<InterruptHook> interruptHook{nullptr};

void setInterruptHook(InterruptHook hook) { interruptHook = hook; }

static std::atomic<const WaitHooks *> waitHooks{nullptr};

void setWaitHooks(const WaitHooks &hooks) { waitHooks = &hooks; }

Waiting::Waiting() {
  if (const WaitHooks *hooks = waitHooks)
    released = hooks->release();
}

Waiting::~Waiting() {
  if (released)
    waitHooks.load()->restore(released);
}

/// Raises if the user has given up.
static void checkInterrupt() {
  InterruptHook hook = interruptHook.load();
  if (!hook)
    return;
  try {
    hook();
  } catch (...) {
    noteInterrupt(); // what it waited for may run for ever
    throw;
  }
}

template <typename Awaited> static void waitInterruptibly(Awaited &awaited) {
  using namespace std::chrono_literals;
  if (awaited.waitFor(0ms))
    return;
  syncs::Timed timed(profile::Part::Wait);
  Waiting waiting;
  while (!awaited.waitFor(50ms))
    checkInterrupt();
}

void waitFor(Buffer &buffer) { waitInterruptibly(buffer); }
void waitFor(Marker &marker) { waitInterruptibly(marker); }

void waitUninterrupted(Buffer &buffer) {
  if (buffer.waitFor(std::chrono::milliseconds(0)))
    return;
  syncs::Timed timed(profile::Part::Wait);
  while (!buffer.waitFor(std::chrono::milliseconds(50)))
    ;
}

} // namespace ltc::backend
