//===- rewrite.h - How greedy rewrites run ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ltc::compiler {

/// Without a look for blocks that are equal or cannot be reached, which loops
/// have none of, after every round: it took a tenth of a compile.
inline mlir::GreedyRewriteConfig rewriteConfig() {
  return mlir::GreedyRewriteConfig().setRegionSimplificationLevel(
      mlir::GreedySimplifyRegionLevel::Disabled);
}

} // namespace ltc::compiler
