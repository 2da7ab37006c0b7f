//===- size_table.h - The formulas of one compilation -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/formula.h"

namespace ltc::compiler {

/// Gives formulas the numbers by which int64_t sizes name them (types.h): a
/// size is a number or symbolic, and equal sizes are equal numbers. Owned by
/// the dialect, one a context; single-threaded.
class SizeTable {
public:
  /// A formula as a size: its value when it is constant.
  int64_t size(const Formula &formula);
  Formula formula(int64_t size) const;

  /// The sizes that code is made fast for.
  void setHints(std::vector<int64_t> values) { hints = std::move(values); }
  const std::vector<int64_t> &symbols() const { return hints; }
  /// What a size was in the trace that the graph came from; saturates.
  int64_t hint(int64_t size) const;
  int64_t hint(const Formula &formula) const;

private:
  std::vector<Formula> formulas;
  std::vector<int64_t> hints;
};

} // namespace ltc::compiler
