//===- graph/profiled_run.h - Runs of graphs, for a profile -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"
#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

/// The thread's next launch is of this graph.
void nameRun(const Collection &collection);

/// The thread interprets the collection while it lives.
class InterpretedRun {
public:
  explicit InterpretedRun(const Collection &collection)
      : collection(collection),
        span(spans::isOn() ? "run " : "",
             spans::isOn() ? collection.key.str().substr(0, 8) : "") {
    if (profile::isOn()) [[unlikely]]
      begin();
  }
  ~InterpretedRun() {
    if (run) [[unlikely]]
      profile::endRun(run);
  }
  InterpretedRun(const InterpretedRun &) = delete;
  InterpretedRun &operator=(const InterpretedRun &) = delete;

  /// Tells of results that are not numbers.
  void check(std::span<const BufferPtr> results) const {
    if (run) [[unlikely]]
      checkNumbers(results);
  }

private:
  void begin();
  void checkNumbers(std::span<const BufferPtr> results) const;

  const Collection &collection;
  spans::Span span;
  uint64_t run = 0; ///< in the profile
};

} // namespace ltc::backend
