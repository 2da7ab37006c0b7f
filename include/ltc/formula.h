//===- formula.h - A size as a polynomial in symbols ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <span>

namespace ltc {

/// A polynomial with integer coefficients in the symbols s0, s1, … of a graph:
/// `4*s0*s1+2*s0+3`. Kept in one canonical form, so that equal polynomials
/// compare equal. A value: copy it freely.
class Formula {
public:
  struct Term {
    int64_t coefficient = 0;       ///< never 0
    std::vector<uint32_t> symbols; ///< their product; ascending, may repeat
    bool operator==(const Term &) const = default;
  };

  /// A graph has fewer symbols.
  static constexpr uint32_t maxSymbols = 1 << 16;

  Formula() = default; ///< 0
  LTC_API Formula(int64_t constant);
  LTC_API static Formula symbol(uint32_t number);

  /// By falling degree, then by symbols.
  const std::vector<Term> &terms() const { return all; }
  LTC_API bool isConstant() const;
  /// The value for all symbols 0: the term without any.
  LTC_API int64_t constant() const;
  /// One more than the largest number of a symbol in it; 0 if it has none.
  LTC_API uint32_t symbolCount() const;
  /// Its value for these values of s0, s1, …, of which there are at least
  /// symbolCount(); nothing if it does not fit an int64_t.
  LTC_API std::optional<int64_t>
  evaluate(std::span<const int64_t> symbols) const;

  /// The greatest number that divides all coefficients; 0 of 0.
  LTC_API int64_t content() const;
  /// `by` divides content().
  LTC_API Formula dividedBy(int64_t by) const;

  /// Coefficients that overflow wrap around; verified graphs have none.
  LTC_API Formula operator+(const Formula &other) const;
  LTC_API Formula operator*(const Formula &other) const;
  bool operator==(const Formula &) const = default;

  LTC_API std::string str() const;
  /// Reads what str() writes, in any order of terms and factors.
  LTC_API static std::optional<Formula> parse(std::string_view text);

private:
  void add(Term term);

  std::vector<Term> all;
};

} // namespace ltc
