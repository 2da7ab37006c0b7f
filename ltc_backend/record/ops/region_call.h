//===- ops/region_call.h - Graphs that a call in a graph runs -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/built/built_graph.h"

namespace ltc::backend {

/// Records a call of ltc::cond or ltc::while_loop (ltc/region_ops.h) whose
/// regions were traced. What these read besides their inputs becomes more
/// operands of the call.
class RegionCall {
public:
  using Region = std::shared_ptr<const BuiltGraph>;

  /// The regions were traced for inputs like `operands`. Raises if they do not
  /// give like results.
  LTC_API static std::vector<at::Tensor> cond(const at::Tensor &predicate,
                                              std::vector<at::Tensor> operands,
                                              const Region &then,
                                              const Region &otherwise);
  /// For inputs like `carried`, then `operands`. Raises if the body gives other
  /// types than `carried` has, or the condition is not one bool.
  LTC_API static std::vector<at::Tensor>
  whileLoop(std::vector<at::Tensor> carried, std::vector<at::Tensor> operands,
            const Region &condition, const Region &body);

private:
  explicit RegionCall(std::vector<at::Tensor> operands);

  /// Adds what the region reads besides the operands. Raises if the region
  /// writes to an input.
  void addSources(const BuiltGraph &region);
  /// The region with the inputs of the call, and its seeds behind them.
  Graph graphOf(const BuiltGraph &region) const;
  ValueId placeOf(const BuiltGraph &region, size_t input) const;
  /// Of a constant or an operand.
  ValueId placeOf(const BuiltGraph::Source &source) const;
  std::vector<at::Tensor> record(std::string_view op, c10::IValue first,
                                 size_t carried, const Graph &one,
                                 const Graph &other) const;

  std::vector<at::Tensor> tensors; ///< the operands, then constants
  size_t given;                    ///< how many are operands
  std::vector<const Buffer *> constants;
  struct Number {
    const BuiltGraph *region;
    size_t input; ///< of the region
    DType type;
    int64_t bits;
  };
  /// Each is an operand: a size may equal another number by chance.
  std::vector<Number> numbers;
  bool isSeeded = false; ///< a region draws random numbers
};

} // namespace ltc::backend
