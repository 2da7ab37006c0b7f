//===- control_flow.h - Calls that run programs of their own ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "grown_memory.h"
#include "program.h"

#include <array>

namespace ltc::cpu {

/// A call of ltc::cond or ltc::while_loop (ltc/region_ops.h). From one thread
/// at a time.
class ControlFlow {
public:
  /// The call's regions are loaded from the artifact that makes it.
  static Result<std::unique_ptr<ControlFlow>>
  make(const Graph &call, const Artifact &artifact, std::string_view blobKind,
       MakeCode makeCode, const ltc_host &services);

  /// Gets ready for these values of the symbols of the program that makes it.
  Status choose(std::span<const int64_t> symbols);
  /// The words are those of a library call. Without an error, all results have
  /// their values; else all are unspecified.
  Status run(const int64_t *words);
  /// The number of the node that failed in the last run (ltc/region_ops.h).
  std::optional<size_t> failedNode() const { return failed; }

private:
  /// A value of the call's, or of a region's: dense memory, or a scalar.
  struct Value {
    void *data = nullptr;
    uint64_t bits = 0;
  };
  /// A value as the words give it.
  struct View {
    ValueType type;
    size_t bytes = 0;
    void *data = nullptr;
    uint64_t bits = 0;
    const int64_t *strides = nullptr;
    bool isDense() const;
    /// Copies the elements to dense memory, or from there.
    void copyTo(void *dense) const { copy(dense, true); }
    void copyFrom(const void *dense) const {
      copy(const_cast<void *>(dense), false);
    }

  private:
    void copy(void *dense, bool isTo) const;
  };
  struct Region {
    std::unique_ptr<Program> program;
    Artifact described; ///< without its code
    GrownMemory arena;
    // For the values of the symbols:
    std::vector<ValueType> inputs;
    std::vector<TensorType> results;
    size_t arenaBytes = 0;
    size_t draws = 0; ///< how many of its inputs are seeds

    Status choose(std::span<const int64_t> symbols);
  };

  ControlFlow(const Graph &call, const ltc_host &services);
  Status load(Region &region, std::string_view text, const Artifact &artifact,
              std::string_view blobKind, MakeCode makeCode);
  /// Whether the regions take and give what the call does; what a program
  /// takes and gives is then within its memory.
  bool fits() const;
  /// The same of a region's inputs, and its draws are those behind.
  bool takes(const Region &region) const;
  /// What the call takes and gives for the values of the symbols.
  void setViews(const Graph &fixed);

  /// On `inputs`. `made` that take over an input's memory lie there.
  Status run(size_t region, std::span<void *const> made);
  /// The number among all of the node that failed in a region.
  std::optional<size_t> nodeOf(size_t region, int64_t error) const;
  Status runBranch();
  Status runLoop();
  /// Takes the words apart, and finds memory for what is not dense, and for the
  /// next values of what a loop carries. False if there is none.
  bool place(const int64_t *words);

  const ltc_host &services;
  const Graph call;
  const bool isLoop;
  std::optional<std::vector<int64_t>> chosen; ///< the symbols' values
  size_t operands = 0; ///< of the call, the predicate and the seed not counted
  std::optional<View> predicate, seed;
  uint64_t seeds = 0; ///< the state of nextSeed()
  std::optional<size_t> failed;
  std::vector<View> views;       ///< operands, then results
  std::array<Region, 2> regions; ///< in the order of regionsOf()
  std::vector<Value> inputs;     ///< of a region, without its seeds
  std::vector<void *> results;   ///< of the call, dense
  std::vector<void *> others;    ///< where a loop's next values go
  GrownMemory memory;
};

} // namespace ltc::cpu
