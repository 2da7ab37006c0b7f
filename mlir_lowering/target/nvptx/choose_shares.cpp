//===- choose_shares.cpp - Which loops a block's threads share ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/choose_shares.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// Whether everything that is read or written along a loop lies side by side.
static bool isDense(GenericOp op, const Nest &nest, unsigned loop) {
  for (const Access &access : nest.accesses)
    if (access.general ||
        (!access.isUniformAlong(loop) && access.strides[loop] != 1))
      return false;
  return !op.getBody()
              ->walk([](memref::LoadOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

static unsigned widestBits(GenericOp op, const Nest &nest, unsigned loop) {
  unsigned bits = 8;
  for (auto [access, argument] :
       llvm::zip_equal(nest.accesses, op.getBody()->getArguments()))
    if (!access.isUniformAlong(loop))
      bits = std::max(bits, argument.getType().getIntOrFloatBitWidth());
  return bits;
}

LoopChoice chooseShares(GenericOp op, const Nest &nest, unsigned vectorBits) {
  LoopChoice choice = chooseLoops(op, nest, vectorBits);
  choice.crossLoop = -1; // no squares of vectors
  choice.crossing.clear();
  choice.lanes = 1;
  if (choice.vectorLoop < 0)
    return choice;
  const Loop &loop = nest.loops[choice.vectorLoop];
  if (isDense(op, nest, choice.vectorLoop))
    choice.lanes = std::max(
        1u, vectorBits / widestBits(op, nest, unsigned(choice.vectorLoop)));
  if (ShapedType::isDynamic(loop.extent) && loop.reduction)
    choice.lanes = 1; // a fold has no rest
  while (choice.lanes > 1 && !ShapedType::isDynamic(loop.extent) &&
         loop.extent % choice.lanes != 0)
    choice.lanes /= 2;
  if (choice.lanes == 1)
    choice.vectorLoop = -1;
  return choice;
}

int chooseFold(const Nest &nest, const LoopChoice &choice, int64_t threads) {
  constexpr int64_t shortest = 32; // fewer are added sooner than shuffled
  if (!choice.folding)
    return -1;
  int64_t results = 1, longest = 0;
  int found = -1;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    bool isOpen = ShapedType::isDynamic(loop.extent);
    if (!loop.reduction) {
      results = isOpen ? results : std::min(results * loop.extent, threads);
      continue;
    }
    int64_t extent = isOpen ? INT64_MAX : loop.extent;
    if (extent > longest) {
      longest = extent;
      found = int(number);
    }
  }
  if (choice.vectorLoop >= 0) {
    if (!nest.loops[choice.vectorLoop].reduction)
      return -1;
    return choice.vectorLoop;
  }
  return longest >= shortest && results < threads ? found : -1;
}

} // namespace ltc::compiler
