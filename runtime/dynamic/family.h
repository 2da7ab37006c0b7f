//===- family.h - What is known of graphs of one structure ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dynamic/fit.h"

#include <list>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace ltc::runtime {

class Program;

/// Graphs that differ in sizes only: the traces that there have been, and the
/// programs that serve many of them.
struct Family {
  /// A compiled graph with symbols. The program goes when no size that it was
  /// used for is in memory any more.
  struct Version {
    Fit fit;
    std::vector<GraphOutput> outputs; ///< with its donations
    std::weak_ptr<Program> program;
  };

  /// Held while a graph of the family is compiled: who waits may find that what
  /// was compiled serves it, too.
  std::mutex mutex;
  std::vector<Trace> traces;     ///< what a new version has to serve
  std::vector<Version> versions; ///< the least general first
  std::vector<Fit> refused;      ///< what the compiler has no code for
  bool limitTold = false;        ///< that there are too many versions
  /// The entries that were looked for: versions of other processes.
  std::unordered_set<Hash128> diskAsked;

  /// Of the traces, and positions of the fits: what its memory goes by.
  size_t integers() const;
};

/// The families of one engine, as many as fit. Any thread.
class Families {
public:
  /// Together; a trace of 10,000 ops has some 50,000, and a family a few. What
  /// is more goes, the least recently used first, but for the last one used.
  static constexpr size_t kMaxIntegers = size_t(1) << 22;

  /// The family of that key.
  std::shared_ptr<Family> of(Hash128 key);
  /// Says how many integers it has by now, if it is kept. A thread that holds
  /// the family's mutex.
  void measured(Hash128 key, const Family &family);
  void clear();

private:
  struct Entry {
    Hash128 key;
    std::shared_ptr<Family> family;
    size_t integers;
  };
  void makeRoom();

  std::mutex mutex;
  std::list<Entry> entries; ///< the last used first
  std::unordered_map<Hash128, std::list<Entry>::iterator> index;
  size_t total = 0;
};

} // namespace ltc::runtime
