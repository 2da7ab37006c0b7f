//===- collectives/detached_thread.h - Turns until told to stop -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace ltc::backend {

/// A thread that takes turns until it is stopped. What another machine keeps
/// waiting cannot be joined: who owns one of these never destroys it.
class DetachedThread {
public:
  using Lock = std::unique_lock<std::mutex>;
  /// Called with the lock; may let go of it meanwhile.
  using Turn = std::function<void(Lock &)>;

  /// Starts it, unless it runs. With the lock.
  void start(Turn turn);
  /// Ends it, and waits a second at most for the turn that it is in. Without
  /// the lock. A later start() starts it anew.
  void stop();

  /// For a turn: waits until wake() and `isDue`, or stop(), or so long. Returns
  /// whether to go on.
  template <typename Due> bool wait(Lock &lock, Due &&isDue) {
    changed.wait(lock, [&] { return stops || isDue(); });
    return !stops;
  }
  bool pause(Lock &lock, std::chrono::milliseconds time) {
    return !changed.wait_for(lock, time, [this] { return stops; });
  }
  void wake() { changed.notify_all(); }

  std::mutex mutex; ///< guards this, and what the owner says

private:
  void run(const Turn &turn);

  std::condition_variable changed;
  bool runs = false, stops = false;
};

} // namespace ltc::backend
