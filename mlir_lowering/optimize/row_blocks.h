//===- row_blocks.h - Sums along columns, by blocks of rows -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/optimize/split.h"
#include "mlir_lowering/target/tuning.h"

namespace ltc::compiler {

/// Blocks of few rows of a sum along columns; nothing if rows are too long, or
/// too few.
std::optional<Split> chooseBlocks(mlir::linalg::GenericOp sum,
                                  const TargetFacts &facts);

/// The op behind which blocks of a sum can stand and be part of the loop of one
/// that goes through their rows; null if there is none.
mlir::Operation *placeForBlocks(mlir::linalg::GenericOp sum);

} // namespace ltc::compiler
