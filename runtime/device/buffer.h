//===- buffer.h - Device memory that becomes ready, or fails, once --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cycles.h"
#include "device/device.h"

#include <atomic>
#include <chrono>
#include <condition_variable>

namespace ltc::runtime {

/// An error of a launch, shared by all that it poisons.
struct Failure {
  explicit Failure(Error error) : error(std::move(error)) {
    anyFailure.store(true, std::memory_order_relaxed);
  }

  const Error error;
  std::atomic<bool> seen = false; ///< some wait() or synchronize() returned it
};
using FailurePtr = std::shared_ptr<Failure>;

/// The moment at which the results of a launch become ready or fail. Any
/// thread waits; one thread finishes, once. Results that stay from one run of a
/// prepared launch to the next have one for all runs, which fails once.
class Completion {
public:
  using Clock = CycleClock;

  explicit Completion(uint32_t runs = 1) : unfinished(runs), done(runs == 0) {}
  /// The one of all that is ready from the beginning.
  static const std::shared_ptr<Completion> &ready();

  /// One more run has to finish before it is done.
  void expect();
  void finish(FailurePtr failure);
  bool isDone() const { return done.load(std::memory_order_acquire); }
  /// Tells that whoever launched it goes on; returns when.
  Clock::time_point handOver() {
    Clock::time_point now = Clock::now();
    handed = now;
    return now;
  }
  /// How soon after that somebody came to wait, or found it done.
  Clock::duration untilAwaited() const;
  void wait();
  bool waitFor(std::chrono::milliseconds time);
  /// nullptr when all went well so far.
  const FailurePtr &failed() const {
    static const FailurePtr none;
    return hasFailed.load(std::memory_order_acquire) ? failure : none;
  }
  /// From now on a failed run leaves what the run before it had made, or, with
  /// false, nothing.
  void setRestored(bool is) { restores.store(is, std::memory_order_relaxed); }
  /// Whether it has failed, and somebody has got the error: its results have
  /// their values from before.
  bool isRestored() const {
    return restores.load(std::memory_order_relaxed) && failed() &&
           failed()->seen.load(std::memory_order_relaxed);
  }
  /// What starts from its results from now on starts from those.
  void forgive() { hasFailed.store(false, std::memory_order_release); }
  /// Owns it from now on. For whoever finishes it, before that.
  void keep(std::shared_ptr<const void> what) { kept = std::move(what); }

private:
  void noteWaiting();

  std::atomic<Clock::time_point> handed = Clock::time_point::max();
  std::atomic<Clock::time_point> awaited = Clock::time_point::max();
  uint32_t unfinished; ///< runs; under the mutex
  std::atomic<bool> done;
  std::atomic<bool> hasFailed = false, restores = false;
  FailurePtr failure; ///< written once, before `hasFailed`
  std::shared_ptr<const void> kept;
  std::mutex mutex;
  std::condition_variable changed;
};

class DeviceBuffer final : public Buffer {
public:
  DeviceBuffer(TensorType type, const void *owner,
               std::shared_ptr<Completion> completion)
      : owner(owner), completion(std::move(completion)),
        tensorType(std::move(type)) {}

  const TensorType &type() const override { return tensorType; }
  Status wait() override;
  bool waitFor(std::chrono::milliseconds time) override;
  const Error *failure() const override {
    return completion->isDone() && completion->failed() &&
                   !completion->isRestored()
               ? &completion->failed()->error
               : nullptr;
  }
  bool isUndone() const override {
    return failure() &&
           completion->failed()->seen.load(std::memory_order_relaxed);
  }
  bool isConsumed() const override { return consumed; }
  const void *hostPointer() const override { return memory.hostPointer(); }

  const void *const owner; ///< the engine it belongs to
  const std::shared_ptr<Completion> completion;
  /// Written by the launch, before `completion` is done; read after it.
  Memory memory;
  /// Set when a launch takes the memory over, until that gives it back.
  std::atomic<bool> consumed = false;

private:
  TensorType tensorType;
};

} // namespace ltc::runtime
