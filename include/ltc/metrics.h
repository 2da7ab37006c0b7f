//===- metrics.h - Named counters -------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <atomic>
#include <map>

namespace ltc {

/// A counter `stage.noun[.detail]`. Keep the reference: it never moves.
class Counter {
public:
  void add(int64_t amount = 1) {
    value.fetch_add(amount, std::memory_order_relaxed);
  }
  int64_t get() const { return value.load(std::memory_order_relaxed); }
  void reset() { value.store(0, std::memory_order_relaxed); }

private:
  std::atomic<int64_t> value{0};
};

/// The counter of that name, made at first use. Any thread.
LTC_API Counter &counter(std::string_view name);
/// All counters that are not zero, and those of `alwaysListed()`.
LTC_API std::map<std::string, int64_t> metrics();
LTC_API void resetMetrics();
/// Has these two first call what counts in a cheaper way until somebody looks,
/// and then adds to a counter. Once.
LTC_API void setMetricsSource(void (*addUp)());

} // namespace ltc
