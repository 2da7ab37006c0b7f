//===- op_facts.h - What the layers know about an op ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about single ops that no schema says, for every layer. The tables are
// op_facts.def and argument_facts.def; an op that they do not name has none.
// All functions: any thread. They search by name, in 0.1 to 0.3 us: who meets
// an op often keeps the answer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <optional>

namespace ltc {

enum class OpFact : uint8_t {
#define LTC_FACT(name, meaning) name,
#include "ltc/op_facts.def"
};

class OpFacts {
public:
  constexpr OpFacts() = default;
  constexpr OpFacts(OpFact fact) : bits(uint64_t(1) << unsigned(fact)) {}

  constexpr bool has(OpFact fact) const { return bits & OpFacts(fact).bits; }
  constexpr OpFacts &operator|=(OpFacts others) {
    bits |= others.bits;
    return *this;
  }

private:
  uint64_t bits = 0;
};

constexpr OpFacts operator|(OpFacts some, OpFact other) {
  return some |= other;
}
constexpr OpFacts operator|(OpFact one, OpFact other) {
  return OpFacts(one) | other;
}

/// Of "aten::sort.stable", "aten::relu", "aten::add_.Tensor", "ltc::…".
LTC_API OpFacts factsOf(std::string_view op);

/// What PyTorch says of an index out of range, with {index} and {size} for the
/// values and {dim} for the dimension; empty for most ops.
LTC_API std::string_view indexWords(std::string_view op);

/// Float and Scalar arguments are run-time operands of a graph, so that a new
/// value never recompiles. True for the few (op, argument) pairs whose value
/// decides a shape or picks a different computation, and which therefore stay
/// attributes: `end` of arange, `exponent` of pow, `p` of a norm, …
LTC_API bool scalarIsAttribute(std::string_view op, std::string_view argument);

/// What an integer of a graph is.
enum class IntegerKind : uint8_t {
  InputSize,  ///< a dimension of an input
  ResultSize, ///< a dimension of a node's result, or an attribute that is one
  Data,       ///< a diagonal, a number of shifts, …
  Position,   ///< where a slice starts, the index of a select: also 0 and 1
};

/// What the integers of an op's argument are, or nothing if they are structure:
/// an axis, a stride, a group count, whatever decides what code there is.
LTC_API std::optional<IntegerKind> kindOfInteger(std::string_view op,
                                                 std::string_view argument);

} // namespace ltc
