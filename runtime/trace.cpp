//===- trace.cpp - One span for each stage ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/trace.h"

#include "ltc/metrics.h"

#include <array>

namespace ltc {

namespace {

struct StageCounters {
  Counter &microseconds, &spans;
};

StageCounters countersOf(Stage stage) {
  std::string prefix(name(stage));
  return {counter(prefix + ".microseconds"), counter(prefix + ".spans")};
}

const StageCounters &cached(Stage stage) {
  static const std::array<StageCounters, 8> all = {
      countersOf(Stage::Record),   countersOf(Stage::Graph),
      countersOf(Stage::Import),   countersOf(Stage::Lower),
      countersOf(Stage::Optimize), countersOf(Stage::Codegen),
      countersOf(Stage::Cache),    countersOf(Stage::Execute)};
  return all[size_t(stage)];
}

} // namespace

Span::Span(Stage stage)
    : stage(stage), start(std::chrono::steady_clock::now()) {}

Span::~Span() {
  auto elapsed = std::chrono::steady_clock::now() - start;
  const StageCounters &counters = cached(stage);
  counters.microseconds.add(
      std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
  counters.spans.add();
}

} // namespace ltc
