//===- op_facts.cpp - The tables of facts -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/op_facts.h"

#include <algorithm>

namespace ltc {
namespace {

struct OpRow {
  std::string_view ops;
  OpFacts facts;
};
struct WordsRow {
  std::string_view ops, words;
};
struct AttributeRow {
  std::string_view ops, argument;
};
struct IntegerRow {
  std::string_view ops, argument;
  IntegerKind kind;
};

using enum OpFact;
using enum IntegerKind;

constexpr OpRow kOps[] = {
#define LTC_OP(ops, facts) {ops, facts},
#include "ltc/op_facts.def"
};
constexpr WordsRow kWords[] = {
#define LTC_INDEX_WORDS(ops, words) {ops, words},
#include "ltc/op_facts.def"
};
constexpr AttributeRow kAttributes[] = {
#define LTC_ATTRIBUTE(ops, argument) {ops, argument},
#include "ltc/argument_facts.def"
};
constexpr IntegerRow kIntegers[] = {
#define LTC_INTEGER(ops, argument, kind) {ops, argument, kind},
#include "ltc/argument_facts.def"
};

static_assert(std::ranges::is_sorted(kOps, std::ranges::less_equal(),
                                     &OpRow::ops),
              "op_facts.def is in alphabetical order, with one line an op");

constexpr bool isFamily(std::string_view ops) {
  return ops.ends_with('*') && !ops.ends_with(".*");
}

constexpr size_t kFamilyCount =
    std::ranges::count_if(kOps, isFamily, &OpRow::ops);

/// Those of kOps that name ops by how they begin.
constexpr auto kFamilies = [] {
  std::array<OpRow, kFamilyCount> families;
  std::ranges::copy_if(kOps, families.begin(), isFamily, &OpRow::ops);
  return families;
}();

/// "aten::add_.Tensor" as "aten::add" and ".Tensor".
struct OpName {
  explicit OpName(std::string_view op)
      : whole(op), base(op.substr(0, op.find('.'))),
        overload(op.substr(base.size())) {
    if (base.ends_with('_') && !base.ends_with("__"))
      base.remove_suffix(1);
  }

  bool isAmong(std::string_view ops) const {
    if (isFamily(ops))
      return whole.starts_with(ops.substr(0, ops.size() - 1));
    if (!ops.starts_with(base))
      return false;
    std::string_view rest = ops.substr(base.size());
    return rest == overload || rest == ".*";
  }

  std::string_view whole, base, overload;
};

} // namespace

OpFacts factsOf(std::string_view op) {
  OpName name(op);
  OpFacts facts;
  auto add = [&](const OpRow &row) {
    if (name.isAmong(row.ops))
      facts |= row.facts;
  };
  std::ranges::for_each(kFamilies, add);
  for (auto row = std::ranges::lower_bound(kOps, name.base, {}, &OpRow::ops);
       row != std::end(kOps) && row->ops.starts_with(name.base); ++row)
    add(*row);
  return facts;
}

std::string_view indexWords(std::string_view op) {
  OpName name(op);
  auto row = std::ranges::find_if(
      kWords, [&](const WordsRow &row) { return name.isAmong(row.ops); });
  return row == std::end(kWords) ? std::string_view() : row->words;
}

bool scalarIsAttribute(std::string_view op, std::string_view argument) {
  OpName name(op);
  return factsOf(op).has(OpFact::ScalarsStay) ||
         std::ranges::any_of(kAttributes, [&](const AttributeRow &row) {
           return row.argument == argument && name.isAmong(row.ops);
         });
}

std::optional<IntegerKind> kindOfInteger(std::string_view op,
                                         std::string_view argument) {
  OpName name(op);
  auto row = std::ranges::find_if(kIntegers, [&](const IntegerRow &row) {
    return row.argument == argument && name.isAmong(row.ops);
  });
  return row == std::end(kIntegers) ? std::nullopt : std::optional(row->kind);
}

} // namespace ltc
