//===- interpreter/trial_graph.h - Graphs that are tried out ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What setting `verify` compares, and how it finds the op at fault: a graph
// that runs compiled, and call by call in ATen's own CPU kernels, and parts of
// it that do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Static: without symbols. Inputs and values are CPU tensors; a number is the
/// 64 bits of it, an int64_t of one element.
class TrialGraph {
public:
  using Tensors = std::vector<at::Tensor>;

  explicit TrialGraph(Graph graph) : graph(std::move(graph)) {}
  /// Raises what is wrong with the text.
  LTC_API static TrialGraph parse(const std::string &text);

  const Graph &get() const { return graph; }

  /// All values, by ValueId: what ATen's kernels compute, and those of the
  /// library for random numbers and calls that ATen does not have. With
  /// `noise`, each fraction, the inputs' too, is moved by up to one rounding
  /// error, as that number seeds it. Raises the first error of a kernel.
  LTC_API Tensors reference(const Tensors &inputs,
                            std::optional<int64_t> noise) const;

  /// NotFinite of the first op that makes a NaN, or with `orInf` an Inf, as
  /// ATen's kernels compute it; or the first error of a kernel. Never throws.
  Status lookForNan(const Tensors &inputs, bool orInf) const;

  /// The outputs of the compiled graph. Raises its errors.
  LTC_API Tensors compiled(const Tensors &inputs, int64_t device) const;

  /// These nodes alone, in order. What they read of others is an input, and
  /// what others read or the graph gives out is an output.
  struct Part;
  LTC_API Part part(const std::vector<uint32_t> &nodes, bool donates) const;

private:
  Graph graph;
};

struct TrialGraph::Part {
  TrialGraph graph;
  /// Which values of the whole its inputs and outputs are.
  std::vector<ValueId> inputs, outputs;
};

/// Each ValueId among a node's arguments, in order.
LTC_API std::vector<ValueId> operandsOf(const Node &node);

} // namespace ltc::backend
