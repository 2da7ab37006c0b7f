//===- fit.h - Formulas that several traces have in common ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces of one structure give the same positions other integers. What differs
// becomes a symbol or a formula of symbols. That is a guess about traces to
// come, and need not be right: solve() takes a trace only if every one of its
// integers is what its formula says, and then the formulas are the trace.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dynamic/skeleton.h"
#include "ltc/formula.h"

namespace ltc::runtime {

/// Each position's formula, and where each symbol's value is found.
struct Fit {
  std::vector<Formula> formulas;   ///< distinct
  std::vector<uint32_t> formulaAt; ///< by position: which one it has
  std::vector<uint32_t> symbolAt;  ///< by symbol: a position that is just it

  const Formula &at(size_t position) const {
    return formulas[formulaAt[position]];
  }
  /// The values of the symbols for a trace, if all of it is as the formulas
  /// say. As many integers as there are positions.
  std::optional<std::vector<int64_t>>
  solve(std::span<const int64_t> integers) const;

  bool operator==(const Fit &) const = default;
};

using Trace = std::vector<int64_t>;

/// Formulas for these traces, of which there is at least one, all of the same
/// length. Each of them solves the fit.
Fit fitTraces(std::span<const Trace> traces,
              std::span<const IntegerKind> kinds);

/// The trace's graph with the fit's formulas in place of its integers. They
/// must solve the fit; the symbols' values become hints. A donation between
/// types that were equal in this trace alone is left out. `integers`: the
/// trace's, if there are more than its skeleton has.
Graph openGraph(const Graph &trace, const Fit &fit,
                std::span<const int64_t> integers = {});

/// The fit that a graph with symbols was made with; nothing if some symbol does
/// not stand alone anywhere, and so has no value in a trace.
std::optional<Fit> fitOf(const Graph &open);

} // namespace ltc::runtime
