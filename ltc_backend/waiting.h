//===- waiting.h - Waits for the device -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

namespace ltc::backend {

/// Called every 50 ms while a thread waits for the device; may throw to give
/// up the wait (Ctrl-C).
using InterruptHook = void (*)();
LTC_API void setInterruptHook(InterruptHook hook);
/// What a thread must not hold while it waits: the GIL, which kernels written
/// in Python and other threads' errors need. `release` returns what `restore`
/// takes, or null if the thread does not hold it.
struct WaitHooks {
  void *(*release)();
  void (*restore)(void *released);
};
/// `hooks` stays for good.
LTC_API void setWaitHooks(const WaitHooks &hooks);

/// Stands where a thread is about to wait for another one. PyTorch calls us
/// with the GIL for a few things, such as x[i] with a tensor i.
class Waiting {
public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting &) = delete;

private:
  void *released = nullptr;
};

/// Wait until ready or reached, calling the interrupt hook now and then. Do not
/// raise the buffer's own error.
void waitFor(Buffer &buffer);
void waitFor(Marker &marker);
/// Waits without calling the hook: for whoever holds what a signal handler of
/// the program's may want.
void waitUninterrupted(Buffer &buffer);

} // namespace ltc::backend
