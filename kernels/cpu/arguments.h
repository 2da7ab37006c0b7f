//===- arguments.h - A call's arguments, by name ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include <vector>

namespace ltc::kernels {

using Views = std::span<const TensorView>;

/// A tensor that a call is given.
struct Operand {
  ValueId number = kNoValue; ///< kNoValue: it is left out

  TensorView in(Views operands) const {
    return number == kNoValue ? TensorView{} : operands[number];
  }
};

/// A number that a call has, or is given.
struct Number {
  double value = 0;
  Operand given{};

  double in(Views operands) const;
};

/// Attributes are read when a call is bound, operands when it runs.
class Arguments {
public:
  /// Of a graph of one node, which must outlive this.
  explicit Arguments(const Graph &call) : node(call.nodes[0]) {}

  Operand tensor(std::string_view name) const;
  std::vector<Operand> tensors(std::string_view name) const;
  Number number(std::string_view name, double otherwise = 0) const;
  bool isGiven(std::string_view name) const;
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<bool> flags(std::string_view name) const;
  size_t results() const { return node.results.size(); }

private:
  template <typename T> const T *attribute(std::string_view name) const;

  const Node &node;
};

} // namespace ltc::kernels
