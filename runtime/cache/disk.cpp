//===- disk.cpp - Artifacts that outlive the process ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/disk.h"

#include "cache/entry_file.h"
#include "cache/key.h"
#include "cache/trust.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace ltc::runtime {

namespace {

/// A holder that was stopped, not killed, must not stop everybody else.
constexpr std::chrono::minutes lockLimit(5);

bool mayWrite() { return settings().cache == "rw"; }

/// Whether the target says all of it: kind, triple, CPU. What a driver leaves
/// to the compiler would depend on the machine, and not be in the key.
bool isResolved(std::string_view target) {
  for (int part = 0; part < 3; ++part) {
    size_t colon = target.find(':');
    if (colon == target.npos || colon == 0)
      return false;
    target.remove_prefix(colon + 1);
  }
  return true;
}

} // namespace

DiskEntry::DiskEntry(DiskCacheState &state, std::string directory, Hash128 hash,
                     const std::string &target, const std::string &compiler)
    : state(state), directory(std::move(directory)), hash(hash),
      key(diskKey(hash, target, compiler)), target(target), compiler(compiler) {
}

std::unique_ptr<DiskEntry> DiskEntry::make(DiskCacheState &state, Hash128 hash,
                                           const std::string &target,
                                           const std::string &compiler) {
  if (settings().cache == "off" || compiler.empty() || !isResolved(target))
    return nullptr;
  std::string directory = cache::directory();
  if (directory.empty())
    return nullptr;
  return std::unique_ptr<DiskEntry>(
      new DiskEntry(state, std::move(directory), hash, target, compiler));
}

std::unique_ptr<DiskEntry> DiskEntry::of(DiskCacheState &state,
                                         const Graph &graph,
                                         const std::string &target,
                                         const std::string &compiler) {
  std::unique_ptr<DiskEntry> entry =
      make(state, entryHash(graph), target, compiler);
  if (entry)
    entry->text = graph.str(SourceLines::Omit);
  return entry;
}

std::unique_ptr<DiskEntry>
DiskEntry::ofFamily(DiskCacheState &state, Hash128 skeleton,
                    const std::vector<GraphOutput> &outputs,
                    const std::string &target, const std::string &compiler) {
  return make(state, familyHash(skeleton, outputs), target, compiler);
}

bool DiskEntry::isWanted(const Artifact &artifact) const {
  if (artifact.target != target || artifact.compiler != compiler)
    return false;
  if (!text.empty())
    return artifact.graphText == text;
  Result<Graph> graph = Graph::parse(artifact.graphText);
  return graph && graph->isDynamic() && entryHash(*graph) == hash;
}

void DiskEntry::reportFailure(std::atomic<bool> &told, std::string_view doing,
                              std::string_view why) {
  static Counter &failures = counter("cache.disk.failures");
  failures.add();
  if (!told.exchange(true))
    log(LogLevel::Warn, Stage::Cache,
        "cannot " + std::string(doing) + " the cache in " + directory + " (" +
            std::string(why) + "); going on without it");
}

void DiskEntry::reportUntrusted(std::string_view why) {
  static Counter &untrusted = counter("cache.untrusted");
  if (std::exchange(leftAlone, true))
    return;
  untrusted.add();
  if (!state.untrusted.exchange(true))
    log(LogLevel::Warn, Stage::Cache,
        "compiled graphs, which are machine code, are left alone where others "
        "may write to them: " +
            std::string(why));
}

std::optional<DiskEntry::Found> DiskEntry::load() {
  Found found;
  fault.clear();
  FileResult file =
      readEntry(directory, entryPath(directory, key), mayWrite(), found.bytes);
  if (file.kind == FileResult::Untrusted)
    reportUntrusted(file.why);
  if (file.kind == FileResult::Failed)
    reportFailure(state.readFailed, "read", file.why);
  if (file.kind == FileResult::Bad)
    reject(file.why);
  if (file.kind != FileResult::Done)
    return std::nullopt;
  Result<Artifact> artifact = Artifact::deserialize(found.bytes);
  if (!artifact) {
    reject(artifact.error().message);
    return std::nullopt;
  }
  // The whole graph, not its hash: two with one hash must not meet here. Of a
  // family, a trace has to fit the formulas of the graph that is found.
  if (!isWanted(*artifact)) {
    reject("it was made from another graph, for another CPU or by another "
           "compiler");
    return std::nullopt;
  }
  found.artifact = std::move(*artifact);
  return found;
}

void DiskEntry::reportFault() const {
  static Counter &corrupt = counter("cache.disk.corrupt");
  if (fault.empty())
    return;
  corrupt.add();
  log(LogLevel::Warn, Stage::Cache,
      "the cached graph " + entryPath(directory, key) +
          " is of no use and is compiled again: " + fault);
}

bool DiskEntry::lock() {
  static Counter &waits = counter("cache.disk.waits");
  if (!mayWrite() || leftAlone)
    return false;
  ensureDirectory(directory);
  if (std::string why = whyDirectoryNotTrusted(directory); !why.empty()) {
    reportUntrusted(why);
    return false;
  }
  switch (held.acquire(directory + "/lock", key, lockLimit)) {
  case FileLock::Outcome::Locked:
    break;
  case FileLock::Outcome::LockedAfterWaiting:
    waits.add();
    break;
  case FileLock::Outcome::Unavailable:
    reportFailure(state.writeFailed, "lock", std::strerror(errno));
    return false;
  case FileLock::Outcome::TimedOut:
    reportFailure(state.writeFailed, "lock",
                  "another process has held a graph for too long");
    break;
  }
  return true;
}

void DiskEntry::store(const Artifact &artifact, std::string_view bytes) {
  static Counter &writes = counter("cache.disk.writes");
  static Counter &evictions = counter("cache.disk.evictions");
  auto limit = uint64_t(settings().cache_max_bytes);
  // A compiler that was replaced while we ran is not the one of the key.
  if (!mayWrite() || leftAlone || artifact.compiler != compiler ||
      artifact.target != target || (limit && bytes.size() > limit))
    return;
  FileResult file = writeEntry(directory, entryPath(directory, key), bytes);
  if (file.kind == FileResult::Untrusted)
    return reportUntrusted(file.why);
  if (file.kind != FileResult::Done)
    return reportFailure(state.writeFailed, "write to", file.why);
  writes.add();
  // Listing a large directory takes a while: only when it may have grown by a
  // thirty-second of its limit, of which much is kept free for that.
  uint64_t slack = limit / 32;
  uint64_t before = state.unmeasured.load();
  if (!limit)
    return;
  if (before != UINT64_MAX && before + bytes.size() <= slack) {
    state.unmeasured += bytes.size();
    return;
  }
  state.unmeasured = 0;
  evictions.add(int64_t(cache::prune(directory, limit - slack).size()));
}

} // namespace ltc::runtime
