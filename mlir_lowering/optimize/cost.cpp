//===- cost.cpp - What a linalg op costs ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/cost.h"

#include "mlir_lowering/dialect/sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {

static int64_t opCost(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<linalg::IndexOp, linalg::YieldOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp, arith::DivSIOp,
          arith::DivUIOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::FloorOp,
          math::CopySignOp, math::RoundEvenOp, math::TruncOp, math::FmaOp>(op))
    return 1;
  if (isa<tensor::ExtractOp>(op))
    return 4;
  if (op->getDialect() && op->getDialect()->getNamespace() ==
                              math::MathDialect::getDialectNamespace())
    return 20;
  return 1;
}

int64_t pointCost(linalg::LinalgOp op) {
  int64_t cost = 0;
  op->getRegion(0).walk([&](Operation *inner) { cost += opCost(inner); });
  return cost;
}

int64_t vectorPointCost(linalg::LinalgOp op) {
  constexpr int64_t lanes = 4; // the fewest that are usual
  if (op.getNumLoops() == 0)
    return pointCost(op);
  unsigned last = op.getNumLoops() - 1;
  llvm::SmallDenseSet<Value, 16> varying;
  for (OpOperand &operand : op->getOpOperands())
    if (op.getMatchingIndexingMap(&operand).isFunctionOfDim(last))
      varying.insert(op.getMatchingBlockArgument(&operand));
  int64_t alone = 0, shared = 0;
  op->getRegion(0).walk<WalkOrder::PreOrder>([&](Operation *inner) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    bool varies =
        (index && index.getDim() == last) || inner->getNumRegions() != 0 ||
        llvm::any_of(inner->getOperands(),
                     [&](Value value) { return varying.contains(value); });
    if (varies)
      varying.insert_range(inner->getResults());
    (varies ? alone : shared) += opCost(inner);
  });
  return alone + llvm::divideCeil(shared, lanes);
}

SmallVector<int64_t> loopSizes(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    auto expr = getAffineDimExpr(dim, op.getContext());
    for (OpOperand &operand : op->getOpOperands()) {
      if (!ShapedType::isDynamic(size))
        break;
      if (!isa<ShapedType>(operand.get().getType()))
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (auto position = map.getResultPosition(expr))
        size = sizeOf(operand.get(), *position);
    }
  }
  return sizes;
}

static SmallVector<int64_t> usual(MLIRContext *context,
                                  SmallVector<int64_t> sizes) {
  for (int64_t &size : sizes)
    size = sizeTable(context).hint(size);
  return sizes;
}

SmallVector<int64_t> usualLoopSizes(linalg::LinalgOp op) {
  return usual(op.getContext(), loopSizes(op));
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

int64_t iterations(linalg::LinalgOp op) { return product(usualLoopSizes(op)); }

int64_t elementCount(Value value) {
  if (!isa<ShapedType>(value.getType()))
    return 1;
  return product(usual(value.getContext(), sizesOf(value)));
}

int64_t byteCount(Value tensor) {
  Type element = cast<ShapedType>(tensor.getType()).getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 128;
  return elementCount(tensor) * llvm::divideCeil(bits, 8);
}

/// Whether several large tensors are computed for these ops alone.
static bool holdMuch(ArrayRef<Operation *> ops, const TargetFacts &facts) {
  constexpr size_t several = 4;
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  llvm::SmallDenseSet<Value, 8> held;
  int64_t bytes = 0;
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || inside.contains(maker) ||
          !isa<RankedTensorType>(operand.getType()) ||
          isa<tensor::EmptyOp, linalg::FillOp>(maker) ||
          byteCount(operand) < facts.large_bytes ||
          !llvm::all_of(operand.getUsers(),
                        [&](Operation *user) { return inside.contains(user); }))
        continue;
      if (held.insert(operand).second)
        bytes += byteCount(operand);
    }
  return held.size() >= several && bytes >= facts.much_bytes;
}

/// Whether an op computes a large tensor.
static bool makesMuch(Operation *op, int64_t large) {
  return !isa<tensor::EmptyOp, linalg::FillOp>(op) &&
         isa<DestinationStyleOpInterface>(op) &&
         llvm::any_of(op->getResults(), [&](Value result) {
           return isa<RankedTensorType>(result.getType()) &&
                  byteCount(result) >= large;
         });
}

bool wouldHoldMuch(ArrayRef<Operation *> ops, Operation *later,
                   const TargetFacts &facts) {
  if (!holdMuch(ops, facts))
    return false;
  for (Operation *op = ops.back()->getNextNode(); op && op != later;
       op = op->getNextNode())
    if (makesMuch(op, facts.large_bytes))
      return true;
  return false;
}

} // namespace ltc::compiler
