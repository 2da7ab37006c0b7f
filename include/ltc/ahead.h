//===- ahead.h - Programs that are compiled for later -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"

namespace ltc::ahead {

/// A program as it was recorded for some sizes.
struct Trace {
  Graph graph;
  /// What else may depend on the sizes: such as those of inputs that the graph
  /// does not read.
  std::vector<int64_t> integers;
};

/// One graph for all sizes, and a formula for each of the integers.
struct OpenProgram {
  Graph graph;
  std::vector<Formula> integers;
};

/// What the traces of one program have in common: formulas from the first of
/// them, with which the others have to agree. An Unsupported error if they are
/// no one program.
LTC_API Result<OpenProgram> open(std::span<const Trace> traces);

/// Code that needs no linker, for a CPU that is named as in x86-64-v3. Loads
/// the compiler; blocks.
LTC_API Result<Artifact> compile(const Graph &graph, const std::string &cpu);

} // namespace ltc::ahead
