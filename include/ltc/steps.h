//===- steps.h - A program's steps, with their numbers ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "ltc/plugin.h"

namespace ltc {

/// Memory of one operand, at the device's address.
struct OperandMemory {
  void *data = nullptr; ///< nullptr for a scalar
  size_t bytes = 0;
};

/// What each device does alike to go through a program: it checks operands, and
/// works out sizes, grids and arguments. From one thread at a time.
class Steps {
public:
  /// Takes the steps, and what they name, out of an artifact.
  LTC_API static Result<Steps> take(Artifact &artifact);

  /// Gets ready for these values of the artifact's symbols: what follows goes
  /// by the last ones that there were no objections to.
  LTC_API Status choose(std::span<const int64_t> symbols);
  /// What is wrong with these operands, or success. `operands` as program_run
  /// got them, `memory` one for each.
  LTC_API Status check(std::span<const ltc_operand> operands,
                       std::span<const OperandMemory> memory,
                       OperandMemory arena) const;
  /// Arguments are counted from these from now on. `symbols`: where the device
  /// has chosen().
  LTC_API void place(std::span<const ltc_operand> operands,
                     std::span<const OperandMemory> memory, OperandMemory arena,
                     const void *symbols);

  size_t size() const { return all.size(); }
  const ltc_step &operator[](size_t number) const { return all[number]; }
  std::span<const int64_t> chosen() const { return symbols; }
  /// Of its grid.
  int64_t iterations(size_t number) const { return grids[number]; }
  /// Its words, until the next call.
  LTC_API std::span<int64_t> arguments(size_t number);
  uint32_t symbolCount() const { return symbolsGiven; }
  /// Whether a step is given the symbols' address.
  LTC_API bool readSymbols() const;

  /// What a failed check of an index says at a site.
  LTC_API std::string indexError(int64_t site, int64_t index,
                                 int64_t size) const;
  LTC_API std::string valueError(int64_t site) const;
  /// Error sites; the calls are numbered behind them.
  int64_t sites() const { return int64_t(siteWords.size()); }

private:
  /// Works out what depends on the symbols' values; false if one is impossible.
  bool evaluate(std::span<const int64_t> values);
  std::string wordsOf(int64_t site, std::string_view otherwise) const;

  size_t inputCount = 0;
  std::vector<ValueType> types; ///< of inputs, then results
  std::vector<Formula> formulas;
  uint32_t symbolsGiven = 0;    ///< to each run
  std::vector<int64_t> symbols; ///< chosen
  std::vector<int64_t> sizes;   ///< for those, of each formula
  std::vector<ltc_step> all;
  std::vector<ltc_word> words;
  std::vector<ltc_extent> extents;
  std::vector<int64_t> arena; ///< sizes of its parts
  std::vector<std::string> siteWords;
  // For the chosen symbols.
  std::vector<int64_t> grids; ///< iterations, by step
  std::vector<int64_t> parts; ///< where those of the arena begin
  int64_t arenaBytes = 0;
  /// A word is a base plus an amount.
  struct Place {
    uint32_t base;
    int64_t amount;
  };
  std::vector<Place> places;
  // Of one run; kept for their capacity.
  std::vector<int64_t> bases, given;
};

} // namespace ltc
