//===- flops.h - How many operations a node is ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <functional>

namespace ltc {

/// The type of each value of a graph.
std::vector<ValueType> valueTypes(const Graph &graph);
/// Calls f with each value that is an operand.
void forOperands(const Node &node, const std::function<void(ValueId)> &f);

/// Whether a node copies what a view shows, as "aten::slice_copy.Tensor" does:
/// it computes nothing, and reads no more than it writes.
bool copiesView(const Node &node);

/// Floating-point operations of a node, whose operands are among `types`,
/// which have numbers for all sizes: a product of matrices, a convolution and
/// attention by their formulas, anything else one for each element.
double flopsOf(const Node &node, std::span<const ValueType> types);

} // namespace ltc
