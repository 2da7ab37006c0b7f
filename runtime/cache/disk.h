//===- disk.h - Artifacts that outlive the process --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The directory that ltc/cache.h describes, as an engine uses it. A fault of
// any kind is logged and counted, and means that the graph is compiled: it is
// never an error, and never another graph's code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cache/file_lock.h"
#include "ltc/cache.h"

#include <atomic>
#include <memory>

namespace ltc::runtime {

/// What one engine remembers of the directory between graphs. Any thread.
struct DiskCacheState {
  std::atomic<bool> readFailed = false, writeFailed = false,
                    untrusted = false; ///< told already
  /// Written since the directory was last measured.
  std::atomic<uint64_t> unmeasured = UINT64_MAX;
};

/// The place of one graph. One thread at a time; lives as long as the build.
class DiskEntry {
public:
  /// Null if there is no cache on disk, says setting `cache`, or if `target`
  /// leaves open what CPU it means. `graph` must outlive it.
  static std::unique_ptr<DiskEntry> of(DiskCacheState &state,
                                       const Graph &graph,
                                       const std::string &target,
                                       const std::string &compiler);
  /// The same of the graph with symbols, if any, whose skeleton has this key
  /// and whose outputs take over what these do.
  static std::unique_ptr<DiskEntry>
  ofFamily(DiskCacheState &state, Hash128 skeleton,
           const std::vector<GraphOutput> &outputs, const std::string &target,
           const std::string &compiler);

  struct Found {
    Artifact artifact;
    std::string bytes; ///< the artifact's own
  };
  /// The entry, if it is there and is this graph's, or one of this family.
  std::optional<Found> load();
  /// A loaded entry that cannot be used after all.
  void reject(std::string_view why) { fault = why; }
  /// Makes sure that nobody else compiles this graph, while the object lives.
  /// True if load() may find now what it did not before: somebody else's work,
  /// also in the place of what was bad.
  bool lock();
  /// Tells and counts what was wrong with the entry that load() found last.
  /// The graph is compiled then, and the entry replaced.
  void reportFault() const;
  /// What that was; empty if there was nothing.
  const std::string &whatIsWrong() const { return fault; }
  /// Keeps what was compiled, and the directory below its limit.
  void store(const Artifact &artifact, std::string_view bytes);

private:
  DiskEntry(DiskCacheState &state, std::string directory, Hash128 hash,
            const std::string &target, const std::string &compiler);
  static std::unique_ptr<DiskEntry> make(DiskCacheState &state, Hash128 hash,
                                         const std::string &target,
                                         const std::string &compiler);
  bool isWanted(const Artifact &artifact) const;
  void reportUntrusted(std::string_view why);
  void reportFailure(std::atomic<bool> &told, std::string_view doing,
                     std::string_view why);

  DiskCacheState &state;
  const std::string directory;
  const Hash128 hash, key;
  const std::string target, compiler;
  std::string text;       ///< of the one graph; empty: any of the family
  std::string fault;      ///< of the entry that was loaded last
  bool leftAlone = false; ///< others may write to it, or to the directory
  FileLock held;
};

} // namespace ltc::runtime
