//===- trace.h - One span for each stage ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/spans.h"

#include <cstdint>

namespace ltc {

/// Time spent in a stage: adds to the counters `<stage>.microseconds` and
/// `<stage>.spans` when it ends.
class LTC_API Span {
public:
  explicit Span(Stage stage);
  ~Span();
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;

private:
  Stage stage;
  spans::Span told;
  int64_t start; ///< by profile::clock()
};

} // namespace ltc
