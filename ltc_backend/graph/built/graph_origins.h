//===- built/graph_origins.h - What a graph starts from ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/built/built_graph.h"

namespace ltc::backend {

/// What a graph's input is, or what an output or a new value of an input is.
struct Origin {
  enum Kind { Input, Constant, Real, Integer, Seed, Result } kind = Input;
  size_t index = 0;    ///< of an input, or of the graph's output
  at::Tensor constant; ///< on the CPU
  double real = 0;
  int64_t integer = 0;
};

/// A built graph for who writes it to a file.
class LTC_API GraphOrigins {
public:
  /// Raises if the value of a constant cannot be had. Release the GIL first.
  explicit GraphOrigins(const BuiltGraph &built);

  const Graph &graph;
  std::vector<Origin> inputs;  ///< one an input of the graph
  std::vector<Origin> outputs; ///< one of those that finish() was given
  /// By input of the builder's that gets a new value.
  std::vector<std::pair<size_t, Origin>> writes;
};

} // namespace ltc::backend
