//===- fit.cpp - Formulas that several traces have in common --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/fit.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

namespace ltc::runtime {

namespace {

/// What one position has in each trace. Positions with equal columns have one
/// formula.
struct Column {
  Trace values;
  uint32_t first; ///< position
  IntegerKind kind;

  bool varies() const {
    return std::ranges::any_of(
        values, [&](int64_t value) { return value != values[0]; });
  }
};

using Wide = __int128;

/// Whether wanted(trace) is the column's value in every trace.
template <typename Wanted> bool fits(const Column &column, Wanted wanted) {
  for (size_t i = 0; i < column.values.size(); ++i)
    if (wanted(i) != Wide(column.values[i]))
      return false;
  return true;
}

/// Two sizes that are given from outside grow by the same amount by chance more
/// often than by design, unless they are next to each other.
constexpr int64_t kNearby = 16;

/// Of so many symbols all products of three are tried.
constexpr size_t kFewSymbols = 32;

/// Finds a column as a formula of the symbols' columns, the likeliest first.
class Expression {
public:
  Expression(const Column &column, std::span<const Column *const> symbols)
      : column(column), symbols(symbols) {}

  std::optional<Formula> find() const {
    for (auto search :
         {&Expression::multiple, &Expression::shifted, &Expression::product,
          &Expression::sum, &Expression::difference, &Expression::affine,
          &Expression::volume})
      if (std::optional<Formula> found = (this->*search)())
        return found;
    return std::nullopt;
  }

  bool isMultiple() const { return multiple().has_value(); }

private:
  Wide at(size_t symbol, size_t trace) const {
    return symbols[symbol]->values[trace];
  }
  static Formula name(size_t symbol) {
    return Formula::symbol(uint32_t(symbol));
  }
  bool isInput() const { return column.kind == IntegerKind::InputSize; }
  /// Whether a constant that comes with a formula is to be believed.
  bool isPlausible(Wide constant) const {
    return !isInput() || (constant >= -kNearby && constant <= kNearby);
  }

  /// The column as factor * term, for what `term` gives in each trace.
  template <typename Term> std::optional<int64_t> factorOf(Term term) const {
    Wide first = term(0);
    if (first == 0 || column.values[0] % first != 0)
      return std::nullopt;
    Wide factor = column.values[0] / first;
    if (!fits(column, [&](size_t i) { return factor * term(i); }))
      return std::nullopt;
    return int64_t(factor);
  }
  /// The column as term + constant.
  template <typename Term> std::optional<int64_t> constantOf(Term term) const {
    Wide constant = Wide(column.values[0]) - term(0);
    if (!isPlausible(constant) ||
        !fits(column, [&](size_t i) { return term(i) + constant; }))
      return std::nullopt;
    return int64_t(constant);
  }

  std::optional<Formula> multiple() const {
    for (size_t s = 0; s < symbols.size(); ++s)
      if (auto factor = factorOf([&](size_t i) { return at(s, i); }))
        return Formula(*factor) * name(s);
    return std::nullopt;
  }
  std::optional<Formula> shifted() const {
    for (size_t s = 0; s < symbols.size(); ++s)
      if (auto constant = constantOf([&](size_t i) { return at(s, i); }))
        return name(s) + Formula(*constant);
    return std::nullopt;
  }
  std::optional<Formula> product() const {
    for (size_t s = 0; s < symbols.size(); ++s)
      for (size_t t = s; t < symbols.size(); ++t)
        if (auto factor =
                factorOf([&](size_t i) { return at(s, i) * at(t, i); }))
          return Formula(*factor) * name(s) * name(t);
    return std::nullopt;
  }
  std::optional<Formula> sum() const {
    for (size_t s = 0; s < symbols.size(); ++s)
      for (size_t t = s + 1; t < symbols.size(); ++t)
        if (auto constant =
                constantOf([&](size_t i) { return at(s, i) + at(t, i); }))
          return name(s) + name(t) + Formula(*constant);
    return std::nullopt;
  }
  std::optional<Formula> difference() const {
    if (isInput())
      return std::nullopt;
    for (size_t s = 0; s < symbols.size(); ++s)
      if (auto constant = constantOf([&](size_t i) { return -at(s, i); }))
        return Formula(-1) * name(s) + Formula(*constant);
    for (size_t s = 0; s < symbols.size(); ++s)
      for (size_t t = 0; t < symbols.size(); ++t)
        if (auto constant =
                constantOf([&](size_t i) { return at(s, i) - at(t, i); });
            constant && s != t)
          return name(s) + Formula(-1) * name(t) + Formula(*constant);
    return std::nullopt;
  }
  /// factor * symbol + constant. Of two traces most columns are that, so it is
  /// left to what only an op can have made.
  std::optional<Formula> affine() const {
    if (column.kind != IntegerKind::ResultSize)
      return std::nullopt;
    for (size_t s = 0; s < symbols.size(); ++s) {
      auto other = size_t(std::ranges::find_if(symbols[s]->values,
                                               [&](int64_t value) {
                                                 return Wide(value) != at(s, 0);
                                               }) -
                          symbols[s]->values.begin());
      Wide rise = Wide(column.values[other]) - column.values[0];
      Wide run = at(s, other) - at(s, 0);
      if (rise % run != 0 || rise / run < 2 || rise / run > kNearby)
        continue;
      Wide factor = rise / run;
      if (auto constant =
              constantOf([&](size_t i) { return factor * at(s, i); }))
        return Formula(int64_t(factor)) * name(s) + Formula(*constant);
    }
    return std::nullopt;
  }

  /// The elements of a tensor of three sizes that vary, put in a row.
  std::optional<Formula> volume() const {
    if (column.kind != IntegerKind::ResultSize || symbols.size() > kFewSymbols)
      return std::nullopt;
    for (size_t s = 0; s < symbols.size(); ++s)
      for (size_t t = s; t < symbols.size(); ++t)
        for (size_t u = t; u < symbols.size(); ++u)
          if (auto factor = factorOf(
                  [&](size_t i) { return at(s, i) * at(t, i) * at(u, i); }))
            return Formula(*factor) * name(s) * name(t) * name(u);
    return std::nullopt;
  }

  const Column &column;
  std::span<const Column *const> symbols;
};

class Fitter {
public:
  Fitter(std::span<const Trace> traces, std::span<const IntegerKind> kinds) {
    findColumns(traces, kinds);
    for (const Column &column : columns)
      if (column.varies())
        varying.push_back(&column);
    // Symbols are looked for where programs have their sizes from, and small
    // ones first: the large are their multiples.
    std::ranges::sort(varying, [](const Column *a, const Column *b) {
      return std::tuple(a->kind, a->values[0], a->first) <
             std::tuple(b->kind, b->values[0], b->first);
    });
  }

  Fit run() {
    while (!chooseSymbols())
      ;
    std::ranges::sort(symbols, {}, &Column::first);
    Fit fit;
    for (const Column &column : columns)
      fit.formulas.push_back(formulaOf(column));
    for (const Column *symbol : symbols)
      fit.symbolAt.push_back(symbol->first);
    fit.formulaAt = std::move(columnAt);
    return fit;
  }

private:
  void findColumns(std::span<const Trace> traces,
                   std::span<const IntegerKind> kinds) {
    std::unordered_map<Hash128, uint32_t> known;
    for (size_t p = 0; p < traces[0].size(); ++p) {
      Hasher hasher;
      for (const Trace &trace : traces)
        hasher.add(uint64_t(trace[p]));
      auto [found, isNew] =
          known.try_emplace(hasher.finish(), uint32_t(columns.size()));
      if (isNew) {
        columns.push_back({{}, uint32_t(p), kinds[p]});
        for (const Trace &trace : traces)
          columns.back().values.push_back(trace[p]);
      }
      Column &column = columns[found->second];
      column.kind = std::min(column.kind, kinds[p]);
      columnAt.push_back(found->second);
    }
  }

  /// False if it found a better set to begin with.
  bool chooseSymbols() {
    symbols = preferred;
    for (const Column *column : varying) {
      if (std::ranges::find(symbols, column) != symbols.end() ||
          Expression(*column, symbols).find())
        continue;
      // A symbol that is a multiple of a later size: that one is the symbol.
      if (column->kind < IntegerKind::Data)
        for (const Column *symbol : symbols)
          if (Expression(*symbol, std::array{column}).isMultiple()) {
            preferred.push_back(column);
            return false;
          }
      symbols.push_back(column);
    }
    return true;
  }

  Formula formulaOf(const Column &column) const {
    if (!column.varies())
      return column.values[0];
    auto symbol = std::ranges::find(symbols, &column);
    if (symbol != symbols.end())
      return Formula::symbol(uint32_t(symbol - symbols.begin()));
    return *Expression(column, symbols).find();
  }

  std::vector<Column> columns;
  std::vector<uint32_t> columnAt; ///< by position
  std::vector<const Column *> varying, preferred, symbols;
};

} // namespace

Fit fitTraces(std::span<const Trace> traces,
              std::span<const IntegerKind> kinds) {
  return Fitter(traces, kinds).run();
}

std::optional<std::vector<int64_t>>
Fit::solve(std::span<const int64_t> integers) const {
  std::vector<int64_t> symbols;
  for (uint32_t position : symbolAt)
    symbols.push_back(integers[position]);
  std::vector<int64_t> values;
  for (const Formula &formula : formulas) {
    std::optional<int64_t> value = formula.evaluate(symbols);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  for (size_t i = 0; i < integers.size(); ++i)
    if (integers[i] != values[formulaAt[i]])
      return std::nullopt;
  return symbols;
}

Graph openGraph(const Graph &trace, const Fit &fit,
                std::span<const int64_t> integers) {
  Skeleton own;
  if (integers.empty()) {
    own = skeletonOf(trace);
    integers = own.integers;
  }
  Graph table;
  std::vector<int64_t> sizes, hints;
  for (const Formula &formula : fit.formulas)
    sizes.push_back(table.sizeOf(formula));
  for (uint32_t position : fit.symbolAt)
    hints.push_back(integers[position]);
  return openIntegers(
      trace, std::move(table.formulas), std::move(hints),
      [&](int64_t, size_t position) { return sizes[fit.formulaAt[position]]; });
}

std::optional<Fit> fitOf(const Graph &open) {
  Fit fit;
  std::vector<std::optional<uint32_t>> symbolAt(open.symbols.size());
  std::unordered_map<int64_t, uint32_t> known;
  for (int64_t size : skeletonOf(open).integers) {
    auto position = uint32_t(fit.formulaAt.size());
    auto [found, isNew] =
        known.try_emplace(size, uint32_t(fit.formulas.size()));
    fit.formulaAt.push_back(found->second);
    if (!isNew)
      continue;
    fit.formulas.push_back(open.formulaOf(size));
    for (uint32_t i = 0; i < symbolAt.size(); ++i)
      if (fit.formulas.back() == Formula::symbol(i))
        symbolAt[i] = position;
  }
  for (std::optional<uint32_t> position : symbolAt) {
    if (!position)
      return std::nullopt;
    fit.symbolAt.push_back(*position);
  }
  return fit;
}

} // namespace ltc::runtime
