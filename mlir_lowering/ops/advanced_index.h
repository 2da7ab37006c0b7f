//===- advanced_index.h - Indices as NumPy has them -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/emit.h"

namespace ltc::compiler {

/// x[:, i, j]: the index tensors broadcast to one shape, whose dimensions stand
/// where the indexed ones stood if these are neighbours, else in front.
class AdvancedIndex {
public:
  explicit AdvancedIndex(const OpCall &op);

  /// Whether they are integers, at least one, that broadcast to one shape
  /// whatever their symbolic sizes are.
  static bool accepts(const OpCall &op);

  /// The position in x of the result's element at `at`.
  Values position(Scalar s, Value x, llvm::ArrayRef<Value> at) const;
  /// The shape of x[indices].
  Shape shape(Emit &e, Value x) const;
  /// How many of the last dimensions of x have no index, and are the result's.
  int64_t inner(Value x) const { return x.rank() - 1 - last; }

private:
  const Values &indices;
  int64_t count = 0, first = 0, last = -1, rank = 0, begin = 0;
};

} // namespace ltc::compiler
