//===- pairwise_sum.cpp - In which parts a long sum is taken --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/pairwise_sum.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace ltc::compiler {

/// Of an innermost sum: its loop is long enough to hide what joining costs.
/// Sums of sums are so rare that few of them in a row cost nothing.
constexpr int64_t kTerms = 32, kSums = 8;

llvm::SmallVector<Strip> pairwiseStrips(llvm::ArrayRef<Reduction> loops,
                                        bool inParts) {
  llvm::SmallVector<Strip> strips;  // the innermost first
  int64_t terms = 1, most = kTerms; // of the sum that is open by now
  for (const Reduction &reduction : llvm::reverse(loops)) {
    bool isKnown = !mlir::ShapedType::isDynamic(reduction.extent);
    int64_t step = reduction.step;
    int64_t turns = isKnown ? llvm::divideCeil(reduction.extent, step)
                            : kTerms * kSums * kSums * kSums;
    bool apart = false;
    auto add = [&] {
      bool even = isKnown && reduction.extent % step == 0;
      strips.push_back({reduction.loop, step, apart, even});
    };
    while (inParts && terms * turns > most) {
      if (int64_t room = most / terms; room > 1) {
        add();
        step *= room;
        turns = llvm::divideCeil(turns, room);
      }
      apart = true;
      terms = 1;
      most = kSums;
    }
    add();
    terms *= turns;
  }
  return llvm::SmallVector<Strip>(llvm::reverse(strips));
}

} // namespace ltc::compiler
