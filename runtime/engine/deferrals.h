//===- engine/deferrals.h - Graphs that are not compiled yet ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compile is worth its time for a graph that comes again. Until then a graph
// runs call by call (Engine::compile()), and here stands how much time that has
// taken, by what the calls are expected to take: a script must do the same in
// each run, so no clock is read. This is the ski-rental problem (Karlin et al.,
// 1988): whoever rents until that has cost as much as to buy never pays more
// than twice what is needed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace ltc::runtime {

/// Any thread.
class Deferrals {
public:
  /// In seconds: of one run call by call, and of a compile.
  struct Costs {
    double run = 0, compile = 0;
  };

  /// Whether a graph is to run call by call this time, which is counted; else
  /// it is to be compiled. `structure` is the key of what one compile would
  /// serve: graphs that differ in sizes have one.
  bool defer(Hash128 key, Hash128 structure, Costs costs,
             const Graph &graph = {});
  /// The same for a graph that was deferred before. False for any other, and
  /// when defer() is to be asked.
  bool deferAgain(Hash128 key);
  /// A graph of that key runs call by call, on no account.
  void note(Hash128 key);
  /// Whether one has, and was not compiled since.
  bool isDeferred(Hash128 key) const;
  /// Engine::deferred().
  std::vector<DeferredGraphs> list() const;
  void clear();

private:
  struct Account : DeferredGraphs {
    bool isOver = false; ///< a graph of it was compiled
  };
  struct Deferred {
    std::shared_ptr<Account> account; ///< null after note()
    double run = 0;
  };
  /// What an account must have spent before a compile.
  double until(const Account &account) const;
  bool isWorth(const Account &account, double run) const;
  void count(Account &account, double run);
  /// With the lock.
  void makeRoom();

  mutable std::mutex mutex;
  std::unordered_map<Hash128, Deferred> byKey;
  std::unordered_map<Hash128, std::shared_ptr<Account>> byStructure;
  size_t compiled = 0; ///< graphs that were worth it
  double spent = 0;    ///< by all accounts that are not over
};

} // namespace ltc::runtime
