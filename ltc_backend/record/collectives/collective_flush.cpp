//===- collectives/collective_flush.cpp - Begun at rest -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_flush.h"

#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/detached_thread.h"

namespace ltc::backend {

namespace {
struct Flush {
  DetachedThread thread; ///< its mutex guards the rest
  bool isDue = false;    ///< one was recorded since the thread last looked
  std::optional<int64_t> seen;

  void turn(DetachedThread::Lock &lock);
};
} // namespace

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

void Flush::turn(DetachedThread::Lock &lock) {
  // Far longer than a step is without recording anything, a garbage collection
  // or a busy machine included.
  constexpr std::chrono::milliseconds kPatience{200};
  if (seen ? !thread.pause(lock, kPatience)
           : !thread.wait(lock, [this] { return isDue; }))
    return;
  isDue = false;
  std::optional<int64_t> before = seen;
  lock.unlock();
  std::optional<int64_t> now = look(before);
  lock.lock();
  seen = now;
}

void flushWhenIdle() {
  Flush &only = flush();
  std::lock_guard lock(only.thread.mutex);
  only.thread.start([&only](auto &held) { only.turn(held); });
  if (!std::exchange(only.isDue, true))
    only.thread.wake();
}

void stopFlushing() { flush().thread.stop(); }

} // namespace ltc::backend
