//===- collectives/detached_thread.cpp - Turns until told to stop ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/detached_thread.h"

#include "ltc/thread.h"

namespace ltc::backend {

void DetachedThread::start(Turn turn) {
  if (runs)
    return;
  startThread([this, turn = std::move(turn)] { run(turn); }).detach();
  runs = true;
}

void DetachedThread::run(const Turn &turn) {
  Lock lock(mutex);
  while (!stops)
    turn(lock);
  runs = stops = false;
  changed.notify_all();
}

void DetachedThread::stop() {
  constexpr std::chrono::seconds kPatience{1};
  Lock lock(mutex);
  stops = runs;
  changed.notify_all();
  changed.wait_for(lock, kPatience, [this] { return !runs; });
}

} // namespace ltc::backend
