//===- autopsy.h - Why a graph was compiled ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph that is not in memory is compared with the nearest that an engine has
// met before, and the first difference is the cause. Nothing here runs while
// graphs are found in memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <memory>

namespace ltc {

/// Why a graph was not in memory.
enum class CompileCause : uint8_t {
  FirstUse,   ///< nothing like it came before
  Shape,      ///< an input, or what an op makes, has another size
  DType,      ///< an input, or what an op makes, has another element type
  Constant,   ///< another value of an argument that is part of the graph
  Ops,        ///< other ops, or other operands of theirs
  Outputs,    ///< the same, and other values are alive at its end
  Evicted,    ///< it was in memory, and gave way to others
  DiskEntry,  ///< what lay on disk under its name was of no use
  OwnVersion, ///< a size seen often gets a program of its own
};
/// "first_use", "shape", "dtype", "constant", "ops", "outputs", "evicted",
/// "disk_entry", "own_version": the counters are `cache.cause.<name>`.
LTC_API std::string_view name(CompileCause cause);

/// How two graphs differ, where they do so first.
struct GraphDifference {
  CompileCause cause = CompileCause::Ops;
  std::string what;     ///< one clause: "dim 0 of input 1 was 8 and is 16"
  std::string op;       ///< ATen name of the op in question, or empty
  std::string subject;  ///< the op's argument, "input 1" or "result 0"
  std::string was, now; ///< of the subject
  SourceId source = 0;  ///< the user's line in the later graph
  SourceId earlier = 0; ///< and in the earlier one
};

/// Compares two graphs in the order in which they were recorded; they must
/// differ in more than their sources. O(nodes).
GraphDifference compareGraphs(const Graph &before, const Graph &now);

/// One graph that an engine did not have in memory.
struct CompileRecord {
  uint64_t number = 0; ///< counts from 1, in the process
  Hash128 key;
  size_t ops = 0;
  double seconds = 0;    ///< until it could be launched
  bool fromDisk = false; ///< loaded, not compiled
  bool open = false;     ///< with sizes left open: it serves others too
  /// `source` and `earlier` are known whenever a line of theirs is.
  GraphDifference difference;
  Source source, earlier; ///< of the difference
  Source endedAt;         ///< the line that needed the graph
  /// The record of the graph that this one was compared with; 0 if none.
  uint64_t comparedWith = 0;

  /// What the user can do, or empty.
  LTC_API std::string remedy() const;
  /// Several lines for people; line() is one, for a log.
  LTC_API std::string str() const;
  std::string line() const;
};

/// The last thousand, oldest first. Any thread.
LTC_API std::vector<CompileRecord> compileRecords();

/// Counts what the thread that entered it compiles, or has another compile in
/// its stead, until it leaves. Left by its destructor, in any order with
/// others.
class CompileWatch {
public:
  /// `loads`: a graph loaded from disk counts too.
  LTC_API CompileWatch(size_t allowed, bool loads);
  ~CompileWatch() { leave(); }
  CompileWatch(const CompileWatch &) = delete;
  CompileWatch &operator=(const CompileWatch &) = delete;

  LTC_API void enter();
  LTC_API void leave();
  /// All that was counted. Any thread.
  LTC_API std::vector<CompileRecord> records() const;

  struct Count;
  /// Those of a thread, the innermost last.
  using Entered = std::vector<std::shared_ptr<Count>>;
  /// Whether this thread is inside of one.
  LTC_API static bool isEntered();
  /// Of this thread: to be given to one that compiles in its stead.
  LTC_API static Entered entered();
  /// Makes this thread compile for these, and returns those it did before.
  LTC_API static Entered exchange(Entered guards);

  /// Tells the guards of this thread.
  static void notify(const CompileRecord &record);
  /// UnexpectedCompile, with the autopsy, if a guard of this thread has been
  /// broken since the last call.
  LTC_API static Status check();

private:
  std::shared_ptr<Count> count;
};

} // namespace ltc
