//===- guard.cpp - Compiles that are not to happen --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/autopsy.h"

namespace ltc {

/// Those that this thread has entered, the innermost last.
static std::vector<CompileGuard *> &entered() {
  static thread_local std::vector<CompileGuard *> guards;
  return guards;
}

void CompileGuard::enter() { entered().push_back(this); }

void CompileGuard::leave() { std::erase(entered(), this); }

void CompileGuard::notify(const CompileRecord &record) {
  for (CompileGuard *guard : entered()) {
    if (record.fromDisk && !guard->loads)
      continue;
    guard->counted.push_back(record);
    guard->broken = guard->counted.size() > guard->allowed;
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

Status CompileGuard::check() {
  // One error says it for all that are broken: it passes through them.
  const CompileGuard *innermost = nullptr;
  for (CompileGuard *guard : entered())
    if (std::exchange(guard->broken, false))
      innermost = guard;
  if (!innermost)
    return {};
  return errorOf(innermost->counted, innermost->allowed);
}

} // namespace ltc
