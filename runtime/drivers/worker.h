//===- worker.h - A worker thread that does what is queued ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ltc::drivers {

struct Fault {
  ltc_error_code code = LTC_INTERNAL;
  std::string message;
  int64_t site = -1;
};
using Outcome = std::optional<Fault>;

/// Any thread.
class Fence {
public:
  void reach(Outcome outcome);
  /// Whether it is reached within that time; negative: no limit.
  bool wait(std::chrono::nanoseconds time);
  /// Only of a reached one.
  const Outcome &outcome() const { return came; }
  std::chrono::steady_clock::time_point time() const { return when; }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
  Outcome came;
  std::chrono::steady_clock::time_point when;
};

/// Does what is queued, in order. Behind a failure it skips what may be
/// skipped, until it resumes.
class Queue {
public:
  /// Each piece of work begins so much later.
  explicit Queue(std::chrono::microseconds delay);
  ~Queue(); ///< when all is done

  void push(std::function<Outcome()> work, bool mayBeSkipped);
  void resume();
  std::shared_ptr<Fence> record();

private:
  void enqueue(std::function<void()> command);
  void loop();

  const std::chrono::microseconds delay;
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> commands;
  bool closed = false;
  // Of the worker.
  bool isFailed = false;
  Outcome sinceFence; ///< the first failure
  std::thread worker;
};

} // namespace ltc::drivers
