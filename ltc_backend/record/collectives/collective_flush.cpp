//===- collectives/collective_flush.cpp - Begun at rest -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_flush.h"

#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/record/collectives/collective_chain.h"

#include <condition_variable>
#include <thread>

namespace ltc::backend {

namespace {
struct Flush {
  std::mutex mutex; ///< guards all
  std::condition_variable changed;
  bool runs = false, stops = false;
  bool isDue = false; ///< one was recorded since the thread last looked

  void run();
};
} // namespace

/// Never destroyed: a thread that a launch keeps waiting may outlive main().
static Flush &flush() {
  static auto *only = new Flush;
  return *only;
}

/// Launches what was recorded if nothing has been since `seen`; returns how far
/// it is now, or nothing if all has begun.
static std::optional<int64_t> look(std::optional<int64_t> seen) {
  std::optional<int64_t> now = recordedAround();
  if (!now || now != seen)
    return now;
  SyncCause cause(profile::Cause::Collective);
  try {
    launchRecorded(/*raises=*/false);
  } catch (const std::exception &) {
    return std::nullopt; // the program's own sync meets what is in its way
  }
  return std::nullopt;
}

void Flush::run() {
  // Far longer than a step is without recording anything, a garbage collection
  // or a busy machine included.
  constexpr std::chrono::milliseconds kPatience{200};
  std::optional<int64_t> seen;
  std::unique_lock lock(mutex);
  while (!stops) {
    if (seen)
      changed.wait_for(lock, kPatience, [this] { return stops; });
    else
      changed.wait(lock, [this] { return stops || isDue; });
    if (stops)
      break;
    isDue = false;
    lock.unlock();
    seen = look(seen);
    lock.lock();
  }
  runs = stops = false;
  changed.notify_all();
}

void flushWhenIdle() {
  Flush &only = flush();
  std::lock_guard lock(only.mutex);
  if (!std::exchange(only.runs, true))
    std::thread([&only] { only.run(); }).detach();
  if (!std::exchange(only.isDue, true))
    only.changed.notify_all();
}

void stopFlushing() {
  constexpr std::chrono::seconds kPatience{1};
  Flush &only = flush();
  std::unique_lock lock(only.mutex);
  only.stops = only.runs;
  only.changed.notify_all();
  only.changed.wait_for(lock, kPatience, [&] { return !only.runs; });
}

} // namespace ltc::backend
