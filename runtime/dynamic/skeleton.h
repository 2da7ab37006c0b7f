//===- skeleton.h - A graph without the integers that may vary --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two graphs of one structure differ in sizes only: in dimensions of their
// types, and in integers of attributes that are sizes or data. What chooses an
// axis or a window is structure, and so are the sizes 0 and 1, which mean an
// empty and a broadcast dimension, and every negative integer. Donations are
// not: that two types are equal, and memory may change hands, can be a matter
// of sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"
#include "ltc/op_facts.h"

#include <functional>

namespace ltc::runtime {

/// The integers of one graph that may vary, in the order of its text: the
/// dimensions of inputs, then of each node its attributes and results.
struct Skeleton {
  Hash128 key; ///< of all the rest
  std::vector<int64_t> integers;
  std::vector<IntegerKind> kinds; ///< one an integer
};

/// A graph with symbols and what it was made from have one key; its integers
/// are then symbolic sizes where the other's are numbers.
Skeleton skeletonOf(const Graph &graph);

/// A graph without symbols with value(old, position) for each integer of its
/// skeleton: a number, or one of the formulas. A donation between types that
/// were equal by chance is left out.
Graph openIntegers(
    const Graph &graph, std::vector<Formula> formulas,
    std::vector<int64_t> hints,
    const std::function<int64_t(int64_t value, size_t position)> &value);

/// Leaves out donations between types that differ.
void dropChanceDonations(Graph &open);

/// The position of an input's dimension, or nothing if it is structure.
std::optional<size_t> positionOf(const Graph &graph, uint32_t input,
                                 uint32_t dim);

/// What stands at a position: "dim 1 of input 0", "argument 'size' of
/// aten::view (node 3)". For messages.
std::string describeInteger(const Graph &graph, size_t position);

} // namespace ltc::runtime
