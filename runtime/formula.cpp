//===- formula.cpp - A size as a polynomial in symbols ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/formula.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace ltc {

namespace {

/// The order of terms: by falling degree, then by symbols.
bool isBefore(const Formula::Term &a, const Formula::Term &b) {
  if (a.symbols.size() != b.symbols.size())
    return a.symbols.size() > b.symbols.size();
  return a.symbols < b.symbols;
}

int64_t wrappingAdd(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) + uint64_t(b));
}

int64_t wrappingMultiply(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}

template <typename T> bool readNumber(std::string_view &text, T &value) {
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc())
    return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

/// "4*s0*s1": factors up to a sign or the end.
bool readTerm(std::string_view &text, bool negative, Formula &sum) {
  Formula product(negative ? -1 : 1);
  do {
    if (text.starts_with('s')) {
      uint32_t symbol = 0;
      text.remove_prefix(1);
      if (!readNumber(text, symbol) || symbol >= Formula::maxSymbols)
        return false;
      product = product * Formula::symbol(symbol);
    } else {
      uint64_t factor = 0;
      if (!readNumber(text, factor) || factor > uint64_t(INT64_MAX))
        return false;
      product = product * Formula(int64_t(factor));
    }
  } while (text.starts_with('*') && (text.remove_prefix(1), true));
  sum = sum + product;
  return true;
}

} // namespace

Formula::Formula(int64_t constant) {
  if (constant)
    all.push_back({constant, {}});
}

Formula Formula::symbol(uint32_t number) {
  Formula formula;
  formula.all.push_back({1, {number}});
  return formula;
}

bool Formula::isConstant() const { return symbolCount() == 0; }

int64_t Formula::constant() const {
  return !all.empty() && all.back().symbols.empty() ? all.back().coefficient
                                                    : 0;
}

uint32_t Formula::symbolCount() const {
  uint32_t count = 0;
  for (const Term &term : all)
    if (!term.symbols.empty())
      count = std::max(count, term.symbols.back() + 1);
  return count;
}

std::optional<int64_t>
Formula::evaluate(std::span<const int64_t> symbols) const {
  int64_t sum = 0;
  for (const Term &term : all) {
    int64_t product = term.coefficient;
    for (uint32_t symbol : term.symbols)
      if (__builtin_mul_overflow(product, symbols[symbol], &product))
        return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

int64_t Formula::content() const {
  int64_t divisor = 0;
  for (const Term &term : all)
    divisor = std::gcd(divisor, term.coefficient);
  return divisor;
}

Formula Formula::dividedBy(int64_t by) const {
  Formula quotient = *this;
  for (Term &term : quotient.all)
    term.coefficient /= by;
  return quotient;
}

void Formula::add(Term term) {
  auto place = std::lower_bound(all.begin(), all.end(), term, isBefore);
  if (place == all.end() || place->symbols != term.symbols) {
    if (term.coefficient)
      all.insert(place, std::move(term));
    return;
  }
  place->coefficient = wrappingAdd(place->coefficient, term.coefficient);
  if (!place->coefficient)
    all.erase(place);
}

Formula Formula::operator+(const Formula &other) const {
  Formula sum = *this;
  for (const Term &term : other.all)
    sum.add(term);
  return sum;
}

Formula Formula::operator*(const Formula &other) const {
  Formula product;
  for (const Term &a : all)
    for (const Term &b : other.all) {
      Term term{wrappingMultiply(a.coefficient, b.coefficient), a.symbols};
      term.symbols.insert(term.symbols.end(), b.symbols.begin(),
                          b.symbols.end());
      std::sort(term.symbols.begin(), term.symbols.end());
      product.add(std::move(term));
    }
  return product;
}

std::string Formula::str() const {
  if (all.empty())
    return "0";
  std::string text;
  for (const Term &term : all) {
    bool negative = term.coefficient < 0;
    if (negative || !text.empty())
      text += negative ? '-' : '+';
    uint64_t size =
        negative ? -uint64_t(term.coefficient) : uint64_t(term.coefficient);
    bool bare = size == 1 && !term.symbols.empty();
    if (!bare)
      text += std::to_string(size);
    for (size_t i = 0; i < term.symbols.size(); ++i)
      text += (bare && i == 0 ? "s" : "*s") + std::to_string(term.symbols[i]);
  }
  return text;
}

std::optional<Formula> Formula::parse(std::string_view text) {
  Formula sum;
  bool negative = text.starts_with('-');
  if (negative)
    text.remove_prefix(1);
  while (true) {
    if (!readTerm(text, negative, sum))
      return std::nullopt;
    if (text.empty())
      return sum;
    if (text[0] != '+' && text[0] != '-')
      return std::nullopt;
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
}

} // namespace ltc
