//===- program.h - A loaded artifact ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "link.h"
#include "run.h"

namespace ltc::cpu {

/// Memory of one operand.
struct OperandMemory {
  void *data = nullptr; ///< nullptr for a scalar
  size_t bytes = 0;
};

/// Code for `target` (Target::str()) runs on `host` if it was made for that
/// very machine, or names the features it uses and they are all there.
Status checkTarget(std::string_view target, const Target &host);

/// link() or mapImages(), by what kind of blobs an artifact has.
using MakeCode = Result<std::unique_ptr<LinkedCode>> (*)(
    std::span<const std::string_view>, std::span<const std::string_view>,
    FindSymbol);

/// Code in memory with its library kernels. run() from one thread at a time.
class Program {
public:
  /// Of an artifact for this machine, whose code is of that kind.
  static Result<std::unique_ptr<Program>> make(Artifact artifact,
                                               std::string_view blobKind,
                                               MakeCode makeCode,
                                               const ltc_host &services);

  /// Gets ready for these values of the artifact's symbols: what follows goes
  /// by the last ones that there were no objections to.
  Status choose(std::span<const int64_t> symbols);
  /// Steps [first, end) of it. `operands` as program_run got them, `memory` one
  /// for each.
  void run(Run &run, std::span<const ltc_operand> operands,
           std::span<const OperandMemory> memory, OperandMemory arena,
           uint32_t first = 0, uint32_t end = UINT32_MAX);
  /// What is wrong with these operands, or success.
  Status check(std::span<const ltc_operand> operands,
               std::span<const OperandMemory> memory,
               OperandMemory arena) const;

  Calls calls;
  /// What a failed check of an index says; the calls are numbered behind them.
  std::vector<std::string> siteWords;

private:
  explicit Program(Calls calls) : calls(std::move(calls)) {}

  using KernelCode = void (*)(int64_t begin, int64_t end, void *words);

  /// Works out what depends on the symbols' values; false if one is impossible.
  bool evaluate(std::span<const int64_t> values);
  /// Whether each library call is given as many words as its operands take.
  bool hasWordsOfCalls();
  void doStep(Run &run, const ltc_step &step);

  size_t inputCount = 0;
  std::vector<ValueType> types; ///< of inputs, then results
  std::vector<std::optional<uint32_t>> donated;
  std::vector<Formula> formulas; ///< of symbolic sizes in `types`
  uint32_t symbolCount = 0;
  std::vector<int64_t> symbols; ///< chosen
  std::vector<int64_t> sizes;   ///< for those, of each formula
  std::unique_ptr<LinkedCode> code;
  std::vector<ltc_step> steps;
  std::vector<ltc_word> words;
  std::vector<ltc_extent> extents;
  std::vector<int64_t> arena; ///< sizes of its parts
  // For the chosen symbols.
  std::vector<int64_t> iterations; ///< by step
  std::vector<int64_t> parts;      ///< where those of the arena begin
  int64_t arenaBytes = 0;
  /// A word is a base plus an amount.
  struct Place {
    uint32_t base;
    int64_t amount;
  };
  std::vector<Place> places;
  // Of one run; kept for their capacity.
  std::vector<int64_t> bases, arguments;
};

} // namespace ltc::cpu
