//===- queue.h - The in-order queue of a device -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <atomic>
#include <chrono>
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
  enum class Progress {
    Done,
    GoesOn, ///< elsewhere; asked for by isDone() to finish()
    Later   ///< to run again when nothing goes on; mayOverlap() is false now
  };
  /// `borrows`: the thread is that of push(), and has other work.
  virtual Progress run(bool borrows) = 0;
  /// Whether it may run() while others go on that ran before it.
  virtual bool mayOverlap() const { return false; }
  /// Whether it is done, within that time.
  virtual bool isDone(std::chrono::nanoseconds) { return true; }
  /// Waits for it; false: it failed, and what started behind it did nothing.
  virtual bool succeeds() { return true; }
  /// Makes all as it was before run(): it started behind what failed, and will
  /// run again.
  virtual void takeBack() {}
  /// After succeeds().
  virtual void finish() {}
};

/// Runs work, one piece at a time, in the order in which it was pushed: on a
/// thread of its own, or what is short and need not wait, in push(). Work that
/// a device goes on with is finished in the same order, by the thread.
class Queue {
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
  void begin(std::unique_ptr<Work> work, std::unique_lock<std::mutex> &lock,
             bool borrows);
  void leave();
  bool mayBegin() const;
  void finishFirst(std::unique_lock<std::mutex> &lock);
  bool mayPush(size_t limit) const;

  const std::function<void()> rest;
  std::mutex mutex;
  std::condition_variable arrived, left;
  std::deque<std::unique_ptr<Work>> waiting;
  std::deque<std::unique_ptr<Work>> started; ///< goes on elsewhere
  std::atomic<size_t> count = 0; ///< not finished; written under mutex
  uint64_t finished = 0;         ///< pieces so far
  bool borrowing = false;        ///< push() runs something
  bool allShort = false;         ///< what waits or runs, as far as it is known
  bool closed = false;
  std::mutex joining;
  std::thread thread;
};

} // namespace ltc::runtime
