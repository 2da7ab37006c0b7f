//===- heeding.cpp - Runs that Ctrl-C ends --------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/heeding.h"

#include "ltc/interrupts.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>

namespace ltc::aot {

namespace {

std::atomic<bool> areHeeded{false};

std::mutex mutex;
unsigned runs = 0;             ///< that heed, now
bool isInstalled = false;      ///< by the first of them
struct sigaction earlier = {}; ///< while it is: the program's own

bool isHandler(const struct sigaction &action) {
  return action.sa_flags & SA_SIGINFO ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void onSignal(int number, siginfo_t *information, void *context) {
  noteInterrupt();
  if (earlier.sa_flags & SA_SIGINFO)
    earlier.sa_sigaction(number, information, context);
  else
    earlier.sa_handler(number);
}

bool isOurs() {
  struct sigaction now;
  return sigaction(SIGINT, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO &&
         now.sa_sigaction == onSignal;
}

void install() {
  if (sigaction(SIGINT, nullptr, &earlier) != 0 || !isHandler(earlier))
    return;
  struct sigaction ours = earlier;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = onSignal;
  isInstalled = sigaction(SIGINT, &ours, nullptr) == 0;
}

} // namespace

void heedInterrupts(bool heed) { areHeeded = heed; }

Heeding::Heeding() : heeds(areHeeded) {
  if (!heeds)
    return;
  std::lock_guard lock(mutex);
  if (runs++ == 0)
    install();
}

Heeding::~Heeding() {
  if (!heeds)
    return;
  std::lock_guard lock(mutex);
  if (--runs > 0 || !std::exchange(isInstalled, false))
    return;
  if (isOurs()) // and not one that was installed meanwhile
    sigaction(SIGINT, &earlier, nullptr);
}

} // namespace ltc::aot
