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

  /// The words are those of a library call. Without an error, all results have
  /// their values; else all are unspecified.
  Status run(const int64_t *words);

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

    /// `results` that take over an input's memory lie there.
    Status run(std::span<const Value> inputs, std::span<void *const> results,
               const ltc_host &services);
  };

  ControlFlow(const Graph &call, const ltc_host &services);
  Status load(Region &region, std::string_view text, const Artifact &artifact,
              std::string_view blobKind, MakeCode makeCode);
  /// Whether the regions take and give what the call does; what a program
  /// takes and gives is then within its memory.
  bool fits() const;

  Status runBranch();
  Status runLoop();
  /// Takes the words apart, and finds memory for what is not dense, and for the
  /// next values of what a loop carries. False if there is none.
  bool place(const int64_t *words);

  const ltc_host &services;
  const bool isLoop;
  size_t operands; ///< of the call, the predicate not counted
  std::optional<View> predicate;
  std::vector<View> views;       ///< operands, then results
  std::array<Region, 2> regions; ///< in the order of regionsOf()
  std::vector<Value> inputs;     ///< of a region
  std::vector<void *> results;   ///< of the call, dense
  std::vector<void *> others;    ///< where a loop's next values go
  GrownMemory memory;
};

} // namespace ltc::cpu
