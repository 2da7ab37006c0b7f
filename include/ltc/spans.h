//===- spans.h - Spans for the profiler of another library ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a thread does, told to a profiler that is not ours while that one is on:
// stages of a sync, runs of graphs and their kernels. The front end lends the
// functions of torch.profiler. Off, each span costs the load of one flag.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ltc::spans {

/// The other profiler's functions; all are there, or none. Any thread.
struct Listener {
  /// What makes a thread that works for the calling one be listened to, too;
  /// null: nobody listens to the caller.
  std::shared_ptr<const void> (*context)() = nullptr;
  /// The thread works for a context until leave() is given what this returns.
  void *(*enter)(const void *context) = nullptr;
  void (*leave)(void *entered) = nullptr;
  /// Null: nobody listens to the thread. Else end() takes it, on that thread.
  void *(*begin)(std::string name) = nullptr;
  void (*end)(void *span) = nullptr;
};
/// Once, before setOn(true).
LTC_API void setListener(Listener functions);
LTC_API const Listener &listener();

/// Who looks on, as bits: one load tells a thread whether anybody does.
constexpr uint8_t kProfile = 1, kListener = 2;
LTC_API extern std::atomic<uint8_t> watchers;
inline uint8_t watching() { return watchers.load(std::memory_order_relaxed); }
inline bool isOn() { return watching() & kListener; }
LTC_API void setOn(bool on);

/// A span while it lives.
class LTC_API Span {
public:
  /// Its name is "ltc::" and both; none if the first is empty.
  explicit Span(std::string_view name, std::string_view more = {}) {
    if (isOn()) [[unlikely]]
      begin(name, more);
  }
  ~Span() {
    if (open) [[unlikely]]
      listener().end(open);
  }
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

private:
  void begin(std::string_view name, std::string_view more);

  void *open = nullptr;
};

/// The thread works for a context while it lives, if there is one.
class WorkFor {
public:
  explicit WorkFor(const void *context)
      : entered(context ? listener().enter(context) : nullptr) {}
  ~WorkFor() {
    if (entered) [[unlikely]]
      listener().leave(entered);
  }
  WorkFor(const WorkFor &) = delete;
  WorkFor &operator=(const WorkFor &) = delete;

private:
  void *const entered;
};

} // namespace ltc::spans
