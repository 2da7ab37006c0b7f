//===- run.h - One run of compiled code, and what it may call ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/library_calls.h"
#include "ltc/steps.h"

#include <atomic>

namespace ltc::cpu {

using drivers::BoundCall, drivers::Calls;

/// The first failure is kept; no step is to be done after it: operands may be
/// garbage, and donated memory is to be left as it is.
class Run {
public:
  /// `steps` say what went wrong at an error site; the site of call 0 comes
  /// after those.
  Run(const ltc_host &host, Calls &calls, const Steps &steps)
      : host(host), calls(calls), steps(steps) {}

  void parallelFor(int64_t n, int64_t grain,
                   void (*body)(int64_t, int64_t, void *), void *argument);
  void call(int64_t number, int64_t *words);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  void fail(ltc_error_code code, std::string message, int64_t site);
  void failIndex(int64_t site, int64_t index, int64_t size);
  void failValue(int64_t site);

  /// The run that the calling thread works for.
  static Run *&current();

  // Read when the last step has been done.
  ltc_error_code code = LTC_OK;
  std::string message;
  int64_t site = -1;

private:
  const ltc_host &host;
  Calls &calls;
  const Steps &steps;
  std::atomic<bool> failed = false;
};

/// Every function that compiled code may call, by symbol.
void *findSymbol(const std::string &name);
/// The part of it that converts halves.
void *findBuiltin(std::string_view name);

} // namespace ltc::cpu
