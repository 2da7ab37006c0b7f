//===- entry.h - One program of a model, ready to run -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/cpu/grown_memory.h"
#include "drivers/cpu/program.h"
#include "ltc/aot.h"
#include "ltc/bundle.h"

namespace ltc::aot {

/// What the entries of a model share. A run has it for itself.
struct Shared {
  const Bundle &bundle;
  std::vector<void *> weights; ///< where each lies; state is the model's own
  cpu::GrownMemory arena;
  uint64_t seed = 0; ///< of the next random op
};

/// Checked against its bundle when it is loaded.
class Entry {
public:
  static Result<std::unique_ptr<Entry>> load(const Bundle &bundle,
                                             const Bundle::Entry &described,
                                             std::string_view program);

  /// The sizes of an output for inputs of these sizes.
  Status outputSizes(const ltc_aot_tensor *inputs, uint32_t output,
                     int64_t *sizes) const;
  /// One run at a time.
  Status run(Shared &shared, const ltc_aot_tensor *inputs,
             const ltc_aot_tensor *outputs);

  const Bundle::Entry &described;
  std::vector<ltc_aot_value> inputs, outputs; ///< for the user

private:
  explicit Entry(const Bundle::Entry &described) : described(described) {}
  friend class EntryRun;

  void describe();
  Status checkProgram(const Bundle &bundle) const;
  /// What is wrong with what the program is given, or null.
  const char *checkSources(const Bundle &bundle) const;
  /// The same of what becomes of its results.
  const char *checkResults(const Bundle &bundle) const;
  /// A size of an input, or the integer that it is.
  Result<int64_t> sizeOf(const ltc_aot_tensor *inputs, size_t input,
                         size_t dim) const;
  /// The numbers that follow from sizes.
  Result<std::vector<int64_t>> derive(const ltc_aot_tensor *inputs) const;
  /// Whether sizes, and the numbers that follow, are what their formulas say.
  Status checkSizes(const ltc_aot_tensor *inputs,
                    std::span<const int64_t> symbols) const;
  Status checkDerived(std::span<const int64_t> derived,
                      std::span<const int64_t> symbols) const;
  /// The symbols' values, if all sizes are such as the entry takes.
  Result<std::vector<int64_t>> solve(const ltc_aot_tensor *inputs) const;

  std::vector<std::vector<ltc_aot_dim>> dims; ///< what the values point to
  Artifact artifact;                          ///< without its code
  std::unique_ptr<cpu::Program> program;
};

} // namespace ltc::aot
