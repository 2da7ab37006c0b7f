//===- built/open_call.h - Calls for sizes that vary ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A front end that knows which sizes its program leaves open builds it for some
// of them. All that these have in common becomes one program, and every integer
// that differs a formula: of the graph, and of what a call is told of arguments
// and results. A call for further sizes is made from those, and builds nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/built/compiled_call.h"

namespace ltc::backend {

/// Immutable, any thread.
class OpenCall {
public:
  /// A program for certain sizes.
  struct Trace {
    HostProgram program;
    /// Numbers that follow from sizes and are no polynomials of them, such as
    /// `n // 2`. Only the front end knows how: it hands them to each call.
    std::vector<int64_t> derived;
  };
  /// Of traces of one program, which may not be the same graph to the last
  /// size: formulas come from the first of them, and the others have to agree
  /// (ahead.h). Null where they do not, where a size that varies is neither an
  /// argument's nor derived, or where the compiler has no code for it. Compiles
  /// otherwise.
  LTC_API static std::shared_ptr<const OpenCall>
  make(const std::vector<Trace> &traces);

  /// The call for such arguments; null if they are not as the formulas say.
  LTC_API std::shared_ptr<const CompiledCall>
  at(c10::ArrayRef<c10::IValue> arguments,
     std::span<const int64_t> derived) const;

private:
  /// An argument's size or number that is a symbol's value, or a derived one.
  struct Place {
    static constexpr size_t kDerived = SIZE_MAX;
    size_t argument, number;
  };
  class Walk;
  OpenCall(HostProgram program, size_t derived, std::vector<Formula> formulas)
      : program(std::move(program)), derivedCount(derived),
        formulas(std::move(formulas)) {}
  /// False if a symbol's value is in no argument, and none is derived.
  bool findSymbols();
  std::optional<std::vector<int64_t>>
  symbolsIn(c10::ArrayRef<c10::IValue> arguments,
            std::span<const int64_t> derived) const;

  /// For the first trace's sizes; its graph's are open.
  const HostProgram program;
  const size_t derivedCount;
  /// Of the derived numbers, then of the program's integers, in the order of
  /// the walk.
  const std::vector<Formula> formulas;
  std::vector<Place> symbolAt;
};

} // namespace ltc::backend
