//===- known_lines.h - Integers along a row of a body -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

/// An integer of the body as step * i + offset, i along the row.
struct Line {
  int64_t step = 0, offset = 0;
  int64_t at(int64_t i) const { return step * i + offset; }
  /// So small that sums and products of two do not overflow.
  bool isSafe() const {
    return llvm::isInt<31>(step) && llvm::isInt<31>(offset);
  }
  Line plus(Line other, int64_t factor = 1) const {
    return {step + factor * other.step, offset + factor * other.offset};
  }
};

/// Positions from begin to end of a row.
struct Part {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// What is known of a body's integers in one part of its rows.
class Known {
public:
  /// Learns it; where something changes in the part, the part becomes shorter.
  Known(mlir::linalg::GenericOp op, unsigned dim, Part &part);

  const Line *find(mlir::Value value) const {
    auto found = lines.find(value);
    return found == lines.end() ? nullptr : &found->second;
  }
  /// Whether a comparison was needed to know it.
  bool isDecided(mlir::Value value) const { return decided.contains(value); }

private:
  void set(mlir::Operation *op, Line line, bool byDecision = false);
  int64_t decide(llvm::function_ref<int64_t(int64_t)> choose);
  void learn(mlir::Operation *op);
  void learnBinary(mlir::Operation *op, Line left, Line right);

  unsigned dim;
  Part &part;
  llvm::DenseMap<mlir::Value, Line> lines;
  llvm::DenseSet<mlir::Value> decided;
};

} // namespace ltc::compiler
