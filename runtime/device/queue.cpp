//===- queue.cpp - The in-order queue of a device ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/queue.h"

#include "ltc/thread.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <pthread.h>

namespace ltc::runtime {

Queue::Queue(std::function<void()> rest) : rest(std::move(rest)) {
  thread = startThread([this] { loop(); });
  pthread_setname_np(thread.native_handle(), "ltc-queue");
}

/// Behind short work that is short too would have to be handed over, with all
/// that follows: a thread that makes it faster than it runs catches up first.
bool Queue::mayPush(size_t limit) const {
  return !limit || count == 0 || (count < limit && !allShort);
}

bool Queue::push(std::unique_ptr<Work> work, size_t limit) {
  {
    std::unique_lock lock(mutex);
    left.wait(lock, [&] { return closed || mayPush(limit); });
    if (closed)
      return false;
    work->queued();
    allShort = count++ == 0 && work->isShort();
    if (allShort) {
      borrowing = true;
      begin(std::move(work), lock, /*borrows=*/true);
      borrowing = false;
      if (waiting.empty() && started.empty() && !closed)
        return true;
    } else {
      waiting.push_back(std::move(work));
    }
  }
  arrived.notify_one();
  return true;
}

void Queue::drain() {
  std::unique_lock lock(mutex);
  left.wait(lock, [&] { return count == 0; });
}

void Queue::close() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  arrived.notify_all();
  left.notify_all();
  std::lock_guard lock(joining);
  if (thread.joinable())
    thread.join();
}

/// Under the lock: one piece is finished.
void Queue::leave() {
  --count;
  ++finished;
  if (!waiting.empty())
    allShort = std::ranges::all_of(
        waiting, [](const auto &next) { return next->isShort(); });
  left.notify_all();
}

/// `lock` is released meanwhile, here and in finishFirst().
void Queue::begin(std::unique_ptr<Work> work,
                  std::unique_lock<std::mutex> &lock, bool borrows) {
  lock.unlock();
  Work::Progress progress = work->run(borrows);
  if (progress == Work::Progress::Done)
    work.reset();
  lock.lock();
  if (progress == Work::Progress::Done)
    leave();
  else if (progress == Work::Progress::GoesOn)
    started.push_back(std::move(work));
  else
    waiting.push_front(std::move(work));
}

/// Enough for a device to have the next launch when one ends; what is freed
/// meanwhile stays.
constexpr size_t kMostStarted = 4;

bool Queue::mayBegin() const {
  return !waiting.empty() &&
         (started.empty() ||
          (started.size() < kMostStarted && waiting.front()->mayOverlap()));
}

/// Waits for the first that was started. After a failure those behind it have
/// done nothing: they are undone from the last on, and run again in order.
void Queue::finishFirst(std::unique_lock<std::mutex> &lock) {
  // How soon what arrives meanwhile is started.
  constexpr auto kGlance = std::chrono::microseconds(200);
  Work &first = *started.front();
  bool waits = waiting.empty() && !closed;
  lock.unlock();
  if (waits && !first.isDone(kGlance))
    return lock.lock();
  bool succeeded = first.succeeds();
  if (!succeeded)
    for (size_t i = started.size(); i-- > 1;)
      started[i]->takeBack();
  first.finish();
  std::unique_ptr<Work> work = std::move(started.front());
  work.reset();
  lock.lock();
  started.pop_front();
  for (; !succeeded && !started.empty(); started.pop_back())
    waiting.push_front(std::move(started.back()));
  leave();
}

void Queue::awaitWork(std::unique_lock<std::mutex> &lock) {
  // To end threads and start others takes 0.1 ms.
  constexpr auto kUntilRest = std::chrono::milliseconds(20);
  auto isThere = [&] {
    return !borrowing && (closed || !waiting.empty() || !started.empty());
  };
  uint64_t before;
  do {
    before = finished;
    if (arrived.wait_for(lock, kUntilRest, isThere))
      return;
  } while (borrowing || finished != before); // push() ran some
  if (rest)
    rest();
  arrived.wait(lock, isThere);
}

void Queue::loop() {
  // Not those of whoever used the device first, which it would inherit.
  std::fesetenv(FE_DFL_ENV);
  std::unique_lock lock(mutex);
  while (true) {
    awaitWork(lock);
    if (!started.empty() && !mayBegin()) {
      finishFirst(lock);
      continue;
    }
    if (waiting.empty())
      return;
    std::unique_ptr<Work> work = std::move(waiting.front());
    waiting.pop_front();
    begin(std::move(work), lock, /*borrows=*/false);
  }
}

} // namespace ltc::runtime
