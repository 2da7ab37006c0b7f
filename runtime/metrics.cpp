//===- metrics.cpp - Named counters -----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/metrics.h"

#include <array>
#include <mutex>

namespace ltc {

namespace {

struct CounterTable {
  std::mutex mutex;
  std::map<std::string, Counter, std::less<>> counters; // nodes never move
};

// Never destroyed: queue threads and atexit handlers may still count.
CounterTable &table() {
  static auto *table = new CounterTable;
  return *table;
}

// What a dashboard may rely on to be there from the start.
constexpr std::array<std::string_view, 9> alwaysListed = {
    "record.ops",       "codegen.graphs", "cache.hit.memory",
    "cache.hit.disk",   "cache.miss",     "cache.disk.corrupt",
    "execute.launches", "execute.errors", "execute.kernels"};

} // namespace

static std::atomic<void (*)()> source{nullptr};

void setMetricsSource(void (*addUp)()) { source = addUp; }

static void askSource() {
  if (auto *addUp = source.load())
    addUp();
}

Counter &counter(std::string_view name) {
  CounterTable &all = table();
  std::lock_guard lock(all.mutex);
  auto found = all.counters.find(name);
  if (found == all.counters.end())
    found = all.counters.try_emplace(std::string(name)).first;
  return found->second;
}

std::map<std::string, int64_t> metrics() {
  askSource();
  std::map<std::string, int64_t> values;
  for (std::string_view name : alwaysListed)
    values.emplace(name, 0);
  CounterTable &all = table();
  std::lock_guard lock(all.mutex);
  for (const auto &[name, counter] : all.counters)
    if (int64_t value = counter.get())
      values[name] = value;
  return values;
}

void resetMetrics() {
  askSource();
  CounterTable &all = table();
  std::lock_guard lock(all.mutex);
  for (auto &entry : all.counters)
    entry.second.reset();
}

} // namespace ltc
