//===- pairwise_sum.h - In which parts a long sum is taken ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A float that is added to a long sum loses its last digits. So no sum takes
// more than 32 terms: it joins another one, which takes 8 such sums, and so on.
// The error of n terms then grows with log n, not with n.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ltc::compiler {

/// A reduction loop: `extent` iterations (ShapedType::kDynamic: unknown), of
/// which each turn of its body does `step`.
struct Reduction {
  unsigned loop;
  int64_t extent;
  int64_t step = 1;
};

/// One loop over a reduction, or over a strip of it.
struct Strip {
  unsigned loop;
  int64_t step;
  bool apart; ///< each turn adds to a sum of its own, which then joins
  bool even;  ///< the last turn is as long as the others
};

/// The strips of loops that are nested as they stand, the outermost first.
/// Unless `inParts`, there is one for each loop, and none is apart.
llvm::SmallVector<Strip> pairwiseStrips(llvm::ArrayRef<Reduction> loops,
                                        bool inParts);

} // namespace ltc::compiler
