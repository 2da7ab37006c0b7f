//===- queue.h - The in-order queue of a device -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ltc::runtime {

/// Something to run on the device's thread. Destroyed where it ran, after it.
class Work {
public:
  virtual ~Work() = default;
  /// Whether to hand it to another thread would take longer than it will. Asked
  /// with the queue's lock while nothing runs.
  virtual bool isShort() const { return false; }
  /// Called by push() once it is in the queue, before it can run.
  virtual void queued() {}
  /// `borrows`: the thread is that of push(), and has other work.
  virtual void run(bool borrows) = 0;
};

/// Runs work, one piece at a time, in the order in which it was pushed: on a
/// thread of its own, or what is short and need not wait, in push().
class LTC_API Queue {
public:
  /// `rest`, unless empty, is called on the thread when there has been nothing
  /// to run for some time, with the queue's lock.
  explicit Queue(std::function<void()> rest = {});
  ~Queue() { close(); }

  /// Blocks while `limit` pieces of work wait or run, or with a limit until the
  /// last of them has run if all are short; 0 is no limit. False, and nothing
  /// queued, once the queue is closed.
  bool push(std::unique_ptr<Work> work, size_t limit = 0);
  /// Blocks until everything pushed before has run and is destroyed.
  void drain();
  /// Drains, then ends the thread. Any number of times.
  void close();
  size_t pending() const { return count.load(std::memory_order_acquire); }

private:
  void loop();
  void awaitWork(std::unique_lock<std::mutex> &lock);
  void finish(std::unique_ptr<Work> work, std::unique_lock<std::mutex> &lock,
              bool borrows);
  bool mayPush(size_t limit) const;

  const std::function<void()> rest;
  std::mutex mutex;
  std::condition_variable arrived, left;
  std::deque<std::unique_ptr<Work>> waiting;
  std::atomic<size_t> count = 0; ///< waiting or running; written under mutex
  uint64_t finished = 0;         ///< pieces so far
  bool borrowing = false;        ///< push() runs something
  bool allShort = false;         ///< what waits or runs, as far as it is known
  bool closed = false;
  std::mutex joining;
  std::thread thread;
};

} // namespace ltc::runtime
