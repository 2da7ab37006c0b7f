//===- profile_graphs.cpp - What programs do, for a profile ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/profile_graphs.h"

#include "ltc/profile.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace ltc::profile {

namespace {

constexpr size_t kMostSpans = 200'000;
/// Runs of a graph that are timed: the first ones, so that a short profile has
/// some, then one of so many. On 100 steps of 5 us, it costs 1 % of one of 16.
constexpr size_t kFirstTimed = 3, kTimedOf = 16;

struct Collected {
  std::shared_ptr<const Profiled> program;
  size_t runs = 0, timed = 0;
  std::vector<int64_t> total, fastest;
  std::vector<std::vector<std::weak_ptr<const void>>> results; ///< by run

  void add(std::span<const int64_t> times) {
    size_t steps = times.size() - 1;
    // The first run meets cold caches: it counts until there is another.
    if (total.size() != steps || timed == 1) {
      total.assign(steps, 0);
      fastest.assign(steps, INT64_MAX);
    }
    for (size_t i = 0; i < steps; ++i) {
      int64_t took = times[i + 1] - times[i];
      total[i] += took;
      fastest[i] = std::min(fastest[i], took);
    }
    ++timed;
  }

  std::vector<HeldResult> held() const {
    std::vector<HeldResult> all;
    for (const auto &run : results) {
      all.resize(std::max(all.size(), run.size()));
      for (size_t i = 0; i < run.size(); ++i) {
        ++all[i].seen;
        all[i].held += !run[i].expired();
      }
    }
    return all;
  }
};

struct Graphs {
  std::mutex mutex; ///< guards the rest
  std::map<Hash128, Collected> all;
  std::vector<KernelSpan> spans;
};

// Never destroyed: queue threads may still count.
Graphs &graphs() {
  static auto *graphs = new Graphs;
  return *graphs;
}

} // namespace

bool timesSteps(Hash128 key) {
  Graphs &to = graphs();
  std::lock_guard lock(to.mutex);
  size_t run = to.all[key].runs++;
  return run < kFirstTimed || run % kTimedOf == 0;
}

void addSteps(Hash128 key, uint64_t run,
              std::shared_ptr<const Profiled> program,
              std::span<const int64_t> times,
              const std::vector<std::shared_ptr<const void>> &results) {
  Graphs &to = graphs();
  std::lock_guard lock(to.mutex);
  if (!isOn())
    return;
  Collected &graph = to.all[key];
  graph.program = std::move(program);
  graph.add(times);
  graph.results.emplace_back(results.begin(), results.end());
  for (size_t i = 0; i + 1 < times.size() && to.spans.size() < kMostSpans; ++i)
    to.spans.push_back({run, uint32_t(i), times[i], times[i + 1]});
}

GraphRows takeGraphs() {
  std::map<Hash128, Collected> all;
  GraphRows rows;
  {
    std::lock_guard lock(graphs().mutex);
    all.swap(graphs().all);
    rows.spans = std::move(graphs().spans);
    graphs().spans.clear();
  }
  for (auto &[key, graph] : all)
    if (graph.program)
      rows.graphs.push_back(
          {key, graph.program->details(), std::max<size_t>(graph.timed, 2) - 1,
           std::move(graph.total), std::move(graph.fastest), graph.held()});
  return rows;
}

} // namespace ltc::profile
