//===- buffer.cpp - Device memory that becomes ready, or fails, once ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/buffer.h"

namespace ltc {

using namespace runtime;

std::atomic<bool> anyFailure = false;

const std::shared_ptr<Completion> &Completion::ready() {
  // Never destroyed: buffers may outlive statics.
  static auto *ready = [] {
    auto completion = std::make_shared<Completion>();
    completion->finish(nullptr);
    return new std::shared_ptr<Completion>(std::move(completion));
  }();
  return *ready;
}

void Completion::expect() {
  std::lock_guard lock(mutex);
  ++unfinished;
  done.store(false, std::memory_order_release);
}

void Completion::finish(FailurePtr why) {
  {
    std::lock_guard lock(mutex);
    if (why && !failure) {
      failure = std::move(why);
      hasFailed.store(true, std::memory_order_release);
    }
    done.store(--unfinished == 0, std::memory_order_release);
  }
  changed.notify_all();
}

Completion::Clock::duration Completion::untilAwaited() const {
  Clock::time_point first = awaited, begin = handed;
  return first == Clock::time_point::max() ? Clock::duration::max()
         : first < begin                   ? Clock::duration::zero()
                                           : first - begin;
}

void Completion::noteWaiting() {
  Clock::time_point nobody = Clock::time_point::max();
  if (awaited.load(std::memory_order_relaxed) == nobody)
    awaited.compare_exchange_strong(nobody, Clock::now());
}

void Completion::wait() {
  noteWaiting();
  if (isDone())
    return;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return isDone(); });
}

bool Completion::waitFor(std::chrono::milliseconds time) {
  if (time.count() > 0)
    noteWaiting();
  if (isDone() || time.count() <= 0)
    return isDone();
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, time, [&] { return isDone(); });
}

Status DeviceBuffer::wait() {
  if (!completion->isDone() && isForked())
    return forkedError();
  completion->wait();
  const FailurePtr &failure = completion->failed();
  if (!failure || completion->isRestored())
    return {};
  failure->seen.store(true, std::memory_order_relaxed);
  return failure->error;
}

bool DeviceBuffer::waitFor(std::chrono::milliseconds time) {
  // In a forked child nothing will ever finish it: wait() says so.
  return isForked() || completion->waitFor(time);
}

} // namespace ltc
