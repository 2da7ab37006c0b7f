//===- egress.h - A graph as a file of another dialect ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StableHLO and TOSA from the rows that we compile ourselves: ops are lowered
// to linalg by the same table, and each loop over elements becomes ops on whole
// tensors (loops.h). Only what loops say badly, such as a convolution, goes to
// the dialect's own op (whole_ops.h). docs/egress.md is made from the tables.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/compiler.h"
#include "llvm/Support/raw_ostream.h"

namespace ltc::compiler {

/// The graph, which has no symbols, as text. Refuses by name what the dialect
/// does not say, at the user's line.
Result<std::string> emitGraph(const Graph &graph, LoweredForm form);

/// The tables, a line a row: ops on elements and on tensors with each dialect's
/// spelling, then the ATen ops that are said whole, and those decomposed.
void listEgress(llvm::raw_ostream &out);

} // namespace ltc::compiler
