//===- derived_size.h - A size that is no polynomial of others --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/formula.h"

namespace ltc {

/// A number that follows from the sizes of an entry's inputs: `n // 2`,
/// `max(n, 16)`. Steps for a stack: each takes the topmost numbers and puts one
/// in their place. Conditions are 1 or 0. Plain data.
struct DerivedSize {
  struct Step {
    enum Kind : uint32_t {
      Constant,
      Size, ///< of an input's dimension, or an integer
      Add,
      Multiply,
      FloorDivide, ///< rounds down, as Python's // does
      Modulo,      ///< has the sign of the divisor, as Python's % does
      Greatest,
      Least,
      Equal,
      Less
    } kind = Constant;
    uint32_t input = 0, dim = 0; ///< of Size
    int64_t constant = 0;
  };
  std::string text; ///< in Python's words, for errors
  std::vector<Step> steps;
  /// What it is for the program: a symbol that has this value, or a polynomial
  /// that has to be equal to it.
  Formula formula;

  /// Whether the steps leave one number, and never take one that is not there.
  bool isWhole() const;
  /// `sizeOf` gives a Result<int64_t> for a step. Nothing if a number does not
  /// fit an int64_t, or a divisor is 0.
  template <typename SizeOf>
  Result<std::optional<int64_t>> evaluate(SizeOf sizeOf) const {
    std::vector<int64_t> stack;
    for (const Step &step : steps) {
      if (step.kind != Step::Size) {
        if (!apply(step, stack))
          return std::optional<int64_t>();
        continue;
      }
      Result<int64_t> size = sizeOf(step);
      if (!size)
        return size.takeError();
      stack.push_back(*size);
    }
    return std::optional(stack.back());
  }

private:
  static bool apply(const Step &step, std::vector<int64_t> &stack);
};

} // namespace ltc
