//===- thread.h - Threads that leave signals to the user's ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace ltc {

/// Blocks what others send to the process, a ^C or an alarm, in the thread that
/// has it and in those that it starts. What a fault of the thread's own raises
/// is never blocked: the system ends the process then without a call of the
/// handler, which is Python's faulthandler, that would say where it was.
class WithoutSignals {
public:
  WithoutSignals() {
    sigset_t others;
    sigfillset(&others);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS,
                      SIGPROF /* a profiler asks every thread */})
      sigdelset(&others, fault);
    pthread_sigmask(SIG_BLOCK, &others, &before);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  WithoutSignals(const WithoutSignals &) = delete;
  WithoutSignals &operator=(const WithoutSignals &) = delete;

private:
  sigset_t before;
};

/// Every thread of ours starts here: signals are the business of the user's.
template <typename Body> std::thread startThread(Body &&body) {
  WithoutSignals scope;
  return std::thread(std::forward<Body>(body));
}

} // namespace ltc
