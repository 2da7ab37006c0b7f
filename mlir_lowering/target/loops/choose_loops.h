//===- choose_loops.h - Which loops of a nest become vectors ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/optimize/access.h"
#include "mlir_lowering/optimize/combiner.h"

namespace ltc::compiler {

struct LoopChoice {
  int vectorLoop = -1; ///< -1: the nest stays scalar
  int64_t lanes = 1;
  /// Operands, results among them, that run along another loop, which is
  /// crossLoop: they come and go in squares of vectors. All loops are parallel
  /// then.
  int crossLoop = -1;
  llvm::SmallVector<unsigned> crossing;
  std::optional<Folding> folding; ///< of reductions, if their order is free
};

LoopChoice chooseLoops(mlir::linalg::GenericOp op, const Nest &nest,
                       unsigned vectorBits);

} // namespace ltc::compiler
