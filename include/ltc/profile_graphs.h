//===- profile_graphs.h - What programs do, for a profile -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some runs of each graph are made step by step (program.h), and each step is
// timed. A program says what its steps are when the profile ends.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"
#include "ltc/source.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ltc::profile {

/// A step of a program: a kernel of its own, a library call or a copy.
struct Kernel {
  std::string name;  ///< "kernel_3", "aten::mm", "copy"
  std::string label; ///< for people: "kernel_3 (mul, add)"
  std::string kind;  ///< "pointwise", "row_reduce", ...; "call"; "copy"
  double flops = 0;  ///< an elementwise op counts 1 for each element
  double bytes = 0;  ///< of what it reads and writes, each once
  std::vector<uint32_t> nodes; ///< of the graph, which it computes
};

struct GraphNode {
  std::string op;
  SourceId place = 0;
};

/// A value that stands in memory; `node` is kNone of a copy of an input.
struct NodeValue {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t node = kNone;
  size_t bytes = 0;
};

struct GraphDetails {
  std::string text;    ///< Graph::str()
  std::string listing; ///< Artifact::listing()
  std::vector<GraphNode> nodes;
  std::vector<Kernel> kernels; ///< one a step
  std::vector<NodeValue> results;
  SourceId endedBy = 0;
  size_t arena = 0; ///< bytes
  /// The step during which its values take most memory, and these values, the
  /// largest ones first.
  uint32_t peakStep = 0;
  std::vector<NodeValue> atPeak;
};

/// A program that can say what it does.
class Profiled {
public:
  virtual ~Profiled() = default;
  virtual GraphDetails details() const = 0;
};

/// A result of a graph in the runs that were timed: how many of these are still
/// held by somebody.
struct HeldResult {
  size_t seen = 0, held = 0;
};

struct GraphProfile {
  Hash128 key;
  GraphDetails details;
  size_t timed = 0;                    ///< runs; the first one is left out
  std::vector<int64_t> total, fastest; ///< nanoseconds of each step
  std::vector<HeldResult> held;        ///< by result
};

/// A step of one run, for a timeline.
struct KernelSpan {
  uint64_t run;  ///< its row
  uint32_t step; ///< of the program
  int64_t start, end;
};

/// Whether this run of the graph is to be made step by step. Counts it.
bool timesSteps(Hash128 key);
/// One that was: `times` has the start of each step, and the end of the last.
void addSteps(Hash128 key, uint64_t run,
              std::shared_ptr<const Profiled> program,
              std::span<const int64_t> times,
              const std::vector<std::shared_ptr<const void>> &results);

/// Ends the collecting.
struct GraphRows {
  std::vector<GraphProfile> graphs;
  std::vector<KernelSpan> spans;
};
GraphRows takeGraphs();

} // namespace ltc::profile
