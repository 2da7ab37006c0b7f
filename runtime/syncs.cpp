//===- syncs.cpp - Why threads sync, and guards against it ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/syncs.h"

#include "ltc/settings.h"

#include "cycles.h"

#include <map>
#include <mutex>
#include <tuple>

namespace ltc::syncs {

struct Guard::State {
  const size_t allowed;
  std::mutex mutex; ///< guards the rest
  std::vector<Counted> counted;
};

namespace {

struct Ledger {
  std::mutex mutex;
  std::map<std::tuple<Cause, SourceId, std::string>, Row> rows;
};

// Never destroyed: a thread may sync while the process ends.
Ledger &all() {
  static auto *ledger = new Ledger;
  return *ledger;
}

struct Thread {
  bool isOpen = false;
  Guard::Counted sync;
  int64_t start = 0;
  // Sums over the thread's life, and as they were when the sync began.
  int64_t waited = 0, compiled = 0, waitedBefore = 0, compiledBefore = 0;
  uint64_t graphs = 0;
  Row *last = nullptr; ///< of the ledger, which keeps all
  std::vector<std::shared_ptr<Guard::State>> guards;
  size_t noFallbacks = 0;
};

Thread &mine() {
  static thread_local Thread thread;
  return thread;
}

/// Whether it only ends a graph, and the program goes on at once.
bool isEndOfGraph(Cause cause, std::string_view detail) {
  switch (cause) {
  case Cause::Collective:
  case Cause::MarkStep:
    return detail.empty(); // else it waits
  case Cause::OptimizerStep:
  case Cause::Parameters:
  case Cause::Cap:
  case Cause::EachOp:
  case Cause::DeviceCopy:
    return true;
  default:
    return false;
  }
}

std::string describe(const Guard::Counted &sync) {
  std::string text(name(sync.cause));
  if (!sync.detail.empty())
    text += " " + sync.detail;
  std::string place = sourceOf(sync.place).str();
  return place.empty() ? text : text + " at " + place;
}

std::string_view whatHappens(Cause cause) {
  switch (cause) {
  case Cause::Item:
    return "a number is read, by .item(), float(x), if x or the like";
  case Cause::Read:
    return "values are read, by .cpu(), .tolist(), .numpy() or the like";
  case Cause::Print:
    return "a tensor is printed";
  case Cause::Fallback:
    return "the op runs on the host";
  case Cause::LinalgCheck:
    return "the op asks at once whether it fails";
  case Cause::Event:
    return "an event is recorded or waited for";
  case Cause::MarkStep:
  case Cause::Synchronize:
    return "the program waits for the device";
  default:
    return "values are needed";
  }
}

Error refusal(const Guard::State &guard, const Guard::Counted &sync) {
  std::string message = "a sync (" + std::string(name(sync.cause));
  message += sync.detail.empty() ? "" : " " + sync.detail;
  message += ") where ";
  message += guard.allowed
                 ? "no more than " + std::to_string(guard.allowed) + " may be: "
                 : "none may be: ";
  message += whatHappens(sync.cause);
  for (const Guard::Counted &before : guard.counted)
    message += "\nbefore it: " + describe(before);
  return {ErrorCode::UnexpectedSync,
          Stage::Graph,
          std::move(message),
          sync.cause == Cause::Fallback || sync.cause == Cause::LinalgCheck
              ? sync.detail
              : "",
          sourceOf(sync.place),
          std::string(remedy(sync.cause))};
}

/// Counts the sync in all guards of the thread, or in none.
Status count(const Thread &thread, const Guard::Counted &sync) {
  if (isEndOfGraph(sync.cause, sync.detail))
    return {};
  for (const auto &guard : thread.guards) {
    std::lock_guard lock(guard->mutex);
    if (guard->counted.size() >= guard->allowed)
      return refusal(*guard, sync);
  }
  for (const auto &guard : thread.guards) {
    std::lock_guard lock(guard->mutex);
    guard->counted.push_back(sync);
  }
  return {};
}

int64_t &sumOf(profile::Part part) {
  return part == profile::Part::Compile ? mine().compiled : mine().waited;
}

} // namespace

std::string_view remedy(Cause cause) {
  switch (cause) {
  case Cause::Item:
  case Cause::Read:
  case Cause::Print:
    return "read it behind the loop, or every 50 steps; torch.where() decides "
           "on the device";
  case Cause::Fallback:
    return "move the op out of the loop, or replace it; docs/ops.md lists "
           "those that leave the graph";
  case Cause::LinalgCheck:
    return "LTC_LINALG_ERRORS=later raises when the graph runs instead";
  default:
    return "leave it out: values are waited for where they are read";
  }
}

std::vector<Row> ledger() {
  Ledger &ledger = all();
  std::lock_guard lock(ledger.mutex);
  std::vector<Row> rows;
  for (const auto &[key, row] : ledger.rows)
    rows.push_back(row);
  return rows;
}

bool isOpen() { return mine().isOpen; }

Status begin(Cause cause, std::string_view detail, SourceId place) {
  Thread &thread = mine();
  Guard::Counted sync{cause, std::string(detail), place};
  if (!thread.guards.empty())
    if (Status status = count(thread, sync); !status)
      return status;
  thread.isOpen = true;
  thread.sync = std::move(sync);
  thread.graphs = 0;
  thread.waitedBefore = thread.waited;
  thread.compiledBefore = thread.compiled;
  thread.start = runtime::Cycles::now();
  if (profile::isOn()) [[unlikely]]
    profile::beginSync(cause, detail, place);
  return {};
}

void end() {
  Thread &thread = mine();
  thread.isOpen = false;
  if (profile::isOn()) [[unlikely]]
    profile::endSync();
  const auto &[cause, detail, place] = thread.sync;
  int64_t wait = thread.waited - thread.waitedBefore;
  if (isEndOfGraph(cause, detail) && !thread.graphs && !wait)
    return; // there was nothing to end
  int64_t compile = thread.compiled - thread.compiledBefore;
  Ledger &ledger = all();
  std::lock_guard lock(ledger.mutex);
  Row *&last = thread.last; // as that of the step before, mostly
  if (!last || last->cause != cause || last->place != place ||
      last->detail != detail)
    last = &ledger.rows[{cause, place, detail}];
  Row &row = *last;
  if (!row.count++) {
    row.cause = cause;
    row.detail = detail;
    row.place = place;
  }
  row.time += runtime::Cycles::now() - thread.start - compile;
  row.wait += wait;
  row.graphs += thread.graphs;
}

void countGraph() { ++mine().graphs; }

Timed::Timed(profile::Part part)
    : timed(part), sum(sumOf(part)), start(runtime::Cycles::now()) {}

Timed::~Timed() { sum += runtime::Cycles::now() - start; }

Guard::Guard(size_t allowed) : state(new State{allowed, {}, {}}) {}

void Guard::enter() { mine().guards.push_back(state); }

void Guard::leave() { std::erase(mine().guards, state); }

std::vector<Guard::Counted> Guard::counted() const {
  std::lock_guard lock(state->mutex);
  return state->counted;
}

void NoFallback::enter() { ++mine().noFallbacks; }

void NoFallback::leave() { --mine().noFallbacks; }

bool NoFallback::isEntered() { return mine().noFallbacks != 0; }

bool refusesFallback() {
  return NoFallback::isEntered() || settings().fallback == "error";
}

} // namespace ltc::syncs
