//===- choose_shares.cpp - Which loops a block's threads share ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/choose_shares.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
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

unsigned widestElement(ArrayRef<GenericOp> ops) {
  unsigned widest = 0, temporary = 8;
  for (GenericOp op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      if (!type || op.getNumLoops() == 0 ||
          (type.hasStaticShape() && type.getNumElements() == 1) ||
          !op.getMatchingIndexingMap(&operand).isFunctionOfDim(
              op.getNumLoops() - 1))
        continue;
      bool isTemporary = operand.get().getDefiningOp<memref::AllocaOp>();
      unsigned &bits = isTemporary ? temporary : widest;
      bits = std::max(bits, type.getElementTypeBitWidth());
    }
  return widest ? std::max(widest, 8U) : temporary;
}

LoopChoice chooseShares(GenericOp op, const Nest &nest, unsigned vectorBits,
                        int64_t lanes) {
  LoopChoice choice = chooseLoops(op, nest, vectorBits);
  choice.crossLoop = -1; // no squares of vectors
  choice.lanes = 1;
  if (choice.vectorLoop < 0)
    return choice;
  const Loop &loop = nest.loops[choice.vectorLoop];
  bool dense = isDense(op, nest, choice.vectorLoop);
  if (dense)
    choice.lanes = lanes;
  bool isOpen = ShapedType::isDynamic(loop.extent);
  // A row is cut where its vectors begin and end.
  if (dense && nest.loops.size() == 1 && lanes > 1 &&
      (isOpen || loop.extent >= 32 * lanes))
    return choice;
  if (isOpen && op.getNumReductionLoops() != 0)
    choice.lanes = 1; // a fold has no rest
  while (choice.lanes > 1 && !isOpen && loop.extent % choice.lanes != 0)
    choice.lanes /= 2;
  // Of a row of odd length, threads hold single elements.
  bool isShortRow =
      dense && nest.loops.size() == 1 && !isOpen && loop.extent <= 32 * 32;
  // Neighbours that add up columns read what lies side by side.
  bool addsColumns =
      dense && !loop.reduction && choice.folding && !choice.folding->isChoice();
  if (choice.lanes == 1 && !addsColumns && !isShortRow)
    choice.vectorLoop = -1;
  return choice;
}

int64_t mostOf(const Loop &loop) {
  if (!ShapedType::isDynamic(loop.extent))
    return loop.extent;
  Value size = loop.size;
  if (auto dim = size.getDefiningOp<memref::DimOp>())
    if (auto tile = dim.getSource().getDefiningOp<memref::SubViewOp>())
      size = dyn_cast<Value>(
          tile.getMixedSizes()[size_t(dim.getConstantIndex().value_or(0))]);
  auto rest =
      size ? size.getDefiningOp<affine::AffineMinOp>() : affine::AffineMinOp();
  int64_t most = 0;
  if (rest)
    for (AffineExpr bound : rest.getMap().getResults())
      if (auto number = dyn_cast<AffineConstantExpr>(bound))
        most = number.getValue();
  return most;
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
