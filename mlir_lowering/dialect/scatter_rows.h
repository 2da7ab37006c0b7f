//===- scatter_rows.h - Rows put where positions say ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets whose iterations have threads write at computed positions themselves:
//
//   ltc.call "ltc::scatter_rows"(positions = %p, source = %s, length = 64,
//       combine = "add", ordered = false) outs(%tensor)
//
// combines rows of the flat source, one of that length for each position, with
// those elements of a flat tensor that begin there; a negative position is
// nowhere. A source of one element is all rows. `ordered`: one row after the
// other, so that the result is always the same. Ways to combine: add, mul, max,
// min, umax, umin, or, and, set. Unlike those of the library, the call updates
// its destination.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/dialect/ltc_dialect.h"

#include <algorithm>

namespace ltc::compiler {

inline constexpr llvm::StringLiteral kScatterRows = "ltc::scatter_rows";

/// That call, or null.
inline CallOp scatterRows(mlir::Operation *op) {
  auto call = llvm::dyn_cast_if_present<CallOp>(op);
  return call && call.getCallee() == kScatterRows ? call : CallOp();
}

/// Elements of which one block writes all that is written in order: it looks
/// at every position, so there are not more blocks than fill a GPU.
inline int64_t orderedTile(int64_t elements) {
  constexpr int64_t fewest = 2048, mostBlocks = 1024;
  return std::max(fewest, (elements + mostBlocks - 1) / mostBlocks);
}

} // namespace ltc::compiler
