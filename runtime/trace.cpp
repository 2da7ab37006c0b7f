//===- trace.cpp - One span for each stage ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/trace.h"

#include "ltc/metrics.h"
#include "ltc/profile.h"

namespace ltc {

namespace {

struct StageCounters {
  explicit StageCounters(Stage stage)
      : microseconds(counter(std::string(name(stage)) + ".microseconds")),
        spans(counter(std::string(name(stage)) + ".spans")) {}

  /// Carries what is less than a microsecond over to the next span.
  void add(int64_t elapsed) {
    int64_t before = nanoseconds.fetch_add(elapsed, std::memory_order_relaxed);
    microseconds.add((before + elapsed) / 1000 - before / 1000);
    spans.add();
  }

  Counter &microseconds, &spans;
  std::atomic<int64_t> nanoseconds = 0;
};

StageCounters &countersOf(Stage stage) {
  static StageCounters all[] = {
      StageCounters(Stage::Record),   StageCounters(Stage::Graph),
      StageCounters(Stage::Import),   StageCounters(Stage::Lower),
      StageCounters(Stage::Optimize), StageCounters(Stage::Codegen),
      StageCounters(Stage::Cache),    StageCounters(Stage::Execute)};
  return all[size_t(stage)];
}

/// As a Part of a step.
bool isTimedElsewhere(Stage stage) {
  return stage == Stage::Graph || stage == Stage::Execute;
}

} // namespace

Span::Span(Stage stage)
    : stage(stage), told(isTimedElsewhere(stage) ? "" : name(stage)),
      start(profile::clock()) {}

Span::~Span() {
  countersOf(stage).add(profile::clock() - start);
  if (profile::isOn() && !isTimedElsewhere(stage)) [[unlikely]]
    profile::addEvent(std::string(name(stage)), start);
}

} // namespace ltc
