//===- watch.cpp - Compiles that are not to happen --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/autopsy.h"

#include <mutex>
#include <optional>

namespace ltc {

/// Shared with the threads that compile in the stead of the one that entered.
struct CompileWatch::Count {
  const size_t allowed;
  const bool loads;
  std::mutex mutex;
  bool left = true;
  bool broken = false; ///< and nobody was told
  std::vector<CompileRecord> records;
};

static CompileWatch::Entered &ofThisThread() {
  static thread_local CompileWatch::Entered guards;
  return guards;
}

CompileWatch::CompileWatch(size_t allowed, bool loads)
    : count(new Count{allowed, loads, {}, true, false, {}}) {}

void CompileWatch::enter() {
  {
    std::lock_guard lock(count->mutex);
    count->left = false;
  }
  ofThisThread().push_back(count);
}

void CompileWatch::leave() {
  {
    std::lock_guard lock(count->mutex);
    count->left = true;
  }
  std::erase(ofThisThread(), count);
}

std::vector<CompileRecord> CompileWatch::records() const {
  std::lock_guard lock(count->mutex);
  return count->records;
}

bool CompileWatch::isEntered() { return !ofThisThread().empty(); }

CompileWatch::Entered CompileWatch::entered() { return ofThisThread(); }

CompileWatch::Entered CompileWatch::exchange(Entered guards) {
  return std::exchange(ofThisThread(), std::move(guards));
}

void CompileWatch::notify(const CompileRecord &record) {
  for (const std::shared_ptr<Count> &guard : ofThisThread()) {
    std::lock_guard lock(guard->mutex);
    if (guard->left || (record.fromDisk && !guard->loads))
      continue;
    guard->records.push_back(record);
    guard->broken = guard->records.size() > guard->allowed;
  }
}

static Error errorOf(const std::vector<CompileRecord> &records,
                     size_t allowed) {
  const CompileRecord &last = records.back();
  std::string message = allowed == 0
                            ? "a graph was compiled where none may be"
                            : std::to_string(records.size()) +
                                  " graphs were compiled where at most " +
                                  std::to_string(allowed) + " may be";
  for (const CompileRecord &record : records)
    message += "\n" + record.str();
  return {ErrorCode::UnexpectedCompile,
          Stage::Cache,
          std::move(message),
          last.difference.op,
          last.source.empty() ? last.endedAt : last.source,
          last.remedy()};
}

Status CompileWatch::check() {
  // One error says it for all that are broken: it passes through them.
  std::optional<Error> error;
  for (const std::shared_ptr<Count> &guard : ofThisThread()) {
    std::lock_guard lock(guard->mutex);
    if (std::exchange(guard->broken, false))
      error = errorOf(guard->records, guard->allowed);
  }
  if (!error)
    return {};
  return std::move(*error);
}

} // namespace ltc
