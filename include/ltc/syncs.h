//===- syncs.h - Why threads sync, and guards against it --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ledger of all syncs of the process, which is always kept: a sync takes
// microseconds, its entry here 0.15 us. Guards refuse a sync before it begins.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/profile.h"

#include <memory>

namespace ltc::syncs {

using profile::Cause;

/// All syncs of one cause at one line. Times are nanoseconds.
struct Row {
  Cause cause;
  std::string detail; ///< as the profile's Sync has it
  SourceId place;
  uint64_t count = 0;
  int64_t time = 0; ///< without compiles
  int64_t wait = 0; ///< for the device, of that time
  uint64_t graphs = 0;
};
/// Of the process so far, in no order. Any thread.
LTC_API std::vector<Row> ledger();

/// What to try against syncs of this cause.
LTC_API std::string_view remedy(Cause cause);

/// Whether the calling thread is in a sync.
LTC_API bool isOpen();
/// The thread's outermost sync begins, and is one for the profile too. Fails,
/// and begins none, where a guard of the thread allows it no more.
LTC_API Status begin(Cause cause, std::string_view detail, SourceId place);
LTC_API void end();
/// The open sync ends a graph.
LTC_API void countGraph();

/// The thread waits for the device, or has a graph compiled, while it lives.
class LTC_API Timed {
public:
  explicit Timed(profile::Part part);
  ~Timed();
  Timed(const Timed &) = delete;
  Timed &operator=(const Timed &) = delete;

private:
  profile::Timed timed;
  int64_t &sum;
  const int64_t start;
};

/// Allows the thread that enters it some syncs, and no more, until it leaves.
/// What ends a graph and waits for nothing does not count. Left by its
/// destructor, in any order with others.
class LTC_API Guard {
public:
  explicit Guard(size_t allowed);
  ~Guard() { leave(); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

  void enter();
  void leave();
  struct Counted {
    Cause cause;
    std::string detail;
    SourceId place;
  };
  /// What it has allowed so far. Any thread.
  std::vector<Counted> counted() const;

  struct State;

private:
  std::shared_ptr<State> state;
};

/// Whether no op of the calling thread may leave its graph, by the setting
/// `fallback` or since the thread is in a NoFallback.
LTC_API bool refusesFallback();

/// Has refusesFallback() say so for the thread that enters it, until it leaves.
class LTC_API NoFallback {
public:
  static void enter();
  static void leave();
  static bool isEntered();
};

} // namespace ltc::syncs
