//===- history.h - The graphs that an engine has met ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/autopsy.h"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace ltc::runtime {

/// Any thread.
class CompileHistory {
public:
  struct Event {
    std::chrono::steady_clock::duration took;
    bool fromDisk = false;
    std::string diskFault; ///< of the entry on disk, or empty
    bool open = false;     ///< with sizes left open
    /// How often a program for all sizes had run for these; 0: it is no matter
    /// of that.
    int64_t runs = 0;
  };
  /// A graph that was not in memory, and now is: finds out why, counts, logs
  /// and tells the thread's guards.
  void note(const Graph &graph, Hash128 key, const Event &event);

private:
  struct Kept {
    Graph graph;
    uint64_t number = 0;
    size_t bytes = 0;
    /// A hash for each node's op and line, and for each line; sorted.
    std::vector<uint64_t> ops, lines;
    Hash128 content; ///< of all but the outputs
  };
  using KeptPtr = std::shared_ptr<const Kept>;
  struct Met {
    uint64_t number = 0;
    SourceId endedBy = 0;
  };

  static KeptPtr summarize(const Graph &graph, uint64_t number);
  /// How alike two graphs are, from 0 to 1.
  static double likeness(const Kept &a, const Kept &b);
  KeptPtr nearest(const Kept &graph);
  std::optional<Met> metBefore(Hash128 key);
  void keep(Hash128 key, KeptPtr graph);

  // 16 MiB are the graphs of some thirty training steps of a thousand ops; a
  // loop that compiles for ever must not fill the memory with them.
  static constexpr size_t kMaxBytes = size_t(16) << 20, kMaxGraphs = 64;
  static constexpr size_t kMaxKeys = 1 << 16;

  std::mutex mutex;
  std::deque<KeptPtr> graphs; ///< the latest last
  size_t bytes = 0;
  std::unordered_map<Hash128, Met> met;
  std::deque<Hash128> metOrder;
};

} // namespace ltc::runtime
