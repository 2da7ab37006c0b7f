//===- worker.h - A worker thread that does what is queued ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

/// What a device has done while it is traced. Any thread.
class Trace {
public:
  void start();
  /// Good until the next start().
  const std::vector<ltc_span> &stop();
  void add(const char *name, uint32_t lane, int64_t start);
  static int64_t now();

private:
  std::atomic<bool> isOn = false;
  std::mutex mutex;
  std::vector<ltc_span> spans;
};

/// Does what is queued, in order. Behind a failure it skips what may be
/// skipped, until it resumes.
class Queue {
public:
  /// Each piece of work begins so much later. Spans are of that lane.
  Queue(std::chrono::microseconds delay, Trace &trace, uint32_t lane);
  ~Queue(); ///< when all is done

  /// `name` is what the trace shows, in static storage.
  void push(const char *name, std::function<Outcome()> work, bool mayBeSkipped);
  void resume();
  std::shared_ptr<Fence> record();

private:
  void enqueue(std::function<void()> command);
  void loop();

  const std::chrono::microseconds delay;
  Trace &trace;
  const uint32_t lane;
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
