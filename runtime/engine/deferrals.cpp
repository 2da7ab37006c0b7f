//===- engine/deferrals.cpp - Graphs that are not compiled yet ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/deferrals.h"

#include <algorithm>

namespace ltc::runtime {

/// Graphs that are remembered. A program with more of them forgets all, and
/// their counts begin anew.
constexpr size_t kMaxGraphs = 1 << 14;

/// How much of what a compile takes must runs have taken before: little for a
/// program's first graphs, since most programs are loops that run for long and
/// have few, and more with each graph that was compiled, or that shares the
/// program's time with this one.
constexpr double kEachGraph = 1. / 16, kMost = 2;
/// The same of a first run, of which nobody knows whether it is the last.
constexpr double kFirst = 3;

double Deferrals::until(const Account &account) const {
  if (account.runs == 0)
    return kFirst * account.compile;
  const double inTurn = account.spent > 0 ? spent / account.spent : 1;
  return std::min(kMost, kEachGraph * (double(compiled) + inTurn)) *
         account.compile;
}

void Deferrals::count(Account &account, double run) {
  account.spent += run;
  spent += run;
  ++account.runs;
}

bool Deferrals::isWorth(const Account &account, double run) const {
  return account.spent + run >= until(account);
}

bool Deferrals::defer(Hash128 key, Hash128 structure, Costs costs,
                      const Graph &graph) {
  std::lock_guard lock(mutex);
  makeRoom();
  std::shared_ptr<Account> &account = byStructure[structure];
  if (!account)
    account = std::make_shared<Account>();
  account->compile = costs.compile;
  account->ops = graph.nodes.size();
  account->endedBy = graph.endedBy;
  if (isWorth(*account, costs.run)) {
    ++compiled;
    // All its graphs look for the program. Those that it does not serve have to
    // earn the next compile.
    account->isOver = true;
    spent -= account->spent;
    byStructure.erase(structure);
    byKey.erase(key);
    return false;
  }
  count(*account, costs.run);
  byKey[key] = {account, costs.run};
  return true;
}

bool Deferrals::deferAgain(Hash128 key) {
  std::lock_guard lock(mutex);
  auto found = byKey.find(key);
  if (found == byKey.end() || !found->second.account)
    return false;
  auto &[account, run] = found->second;
  if (account->isOver || isWorth(*account, run))
    return false;
  count(*account, run);
  return true;
}

void Deferrals::makeRoom() {
  if (byKey.size() < kMaxGraphs)
    return;
  byKey.clear();
  byStructure.clear();
  spent = 0;
}

void Deferrals::note(Hash128 key) {
  std::lock_guard lock(mutex);
  makeRoom();
  byKey.try_emplace(key);
}

bool Deferrals::isDeferred(Hash128 key) const {
  std::lock_guard lock(mutex);
  auto found = byKey.find(key);
  return found != byKey.end() &&
         !(found->second.account && found->second.account->isOver);
}

std::vector<DeferredGraphs> Deferrals::list() const {
  std::vector<DeferredGraphs> graphs;
  {
    std::lock_guard lock(mutex);
    for (const auto &[structure, account] : byStructure)
      if (account->runs) {
        graphs.push_back(*account);
        graphs.back().until = until(*account);
      }
  }
  std::ranges::sort(graphs, std::greater(), &DeferredGraphs::spent);
  return graphs;
}

void Deferrals::clear() {
  std::lock_guard lock(mutex);
  byKey.clear();
  byStructure.clear();
  spent = 0;
}

} // namespace ltc::runtime
