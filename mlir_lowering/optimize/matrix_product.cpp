//===- matrix_product.cpp - Loops that multiply matrices ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/matrix_product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// The number of the input that an extended factor is; none if it is not.
static std::optional<unsigned> factorOf(GenericOp op, Value value) {
  auto extend = value.getDefiningOp<arith::ExtFOp>();
  auto argument =
      extend ? dyn_cast<BlockArgument>(extend.getIn()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return std::nullopt;
  return argument.getArgNumber();
}

/// Whether the body adds the product of both inputs to what has been added up.
static bool addsProducts(GenericOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  auto sum = yield.getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  for (auto [before, added] : {std::pair(sum.getLhs(), sum.getRhs()),
                               std::pair(sum.getRhs(), sum.getLhs())}) {
    auto product = added.getDefiningOp<arith::MulFOp>();
    if (!product || before != op.getRegionOutputArgs()[0])
      continue;
    auto one = factorOf(op, product.getLhs());
    auto other = factorOf(op, product.getRhs());
    return one && other && *one != *other;
  }
  return false;
}

static bool hasTypes(GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 1)
    return false;
  Type left = getElementTypeOrSelf(op.getDpsInputs()[0]);
  Type right = getElementTypeOrSelf(op.getDpsInputs()[1]);
  return left == right && isa<BFloat16Type, Float16Type>(left) &&
         getElementTypeOrSelf(op.getDpsInits()[0]).isF32();
}

std::optional<MatrixProduct> MatrixProduct::of(Operation *any) {
  auto op = dyn_cast<GenericOp>(any);
  if (!op || !hasTypes(op) || !addsProducts(op))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return std::nullopt;
  // Of several loops of a kind the one that is innermost in the result counts.
  std::optional<unsigned> ofFirst, ofSecond;
  for (AffineExpr result : maps[2].getResults()) {
    unsigned loop = cast<AffineDimExpr>(result).getPosition();
    bool inFirst = maps[0].isFunctionOfDim(loop);
    if (inFirst != maps[1].isFunctionOfDim(loop))
      (inFirst ? ofFirst : ofSecond) = loop;
  }
  SmallVector<unsigned> inner;
  op.getReductionDims(inner);
  if (!ofFirst || !ofSecond || !maps[0].isFunctionOfDim(inner[0]) ||
      !maps[1].isFunctionOfDim(inner[0]))
    return std::nullopt;
  auto place = [&](unsigned loop) {
    return *maps[2].getResultPosition(getAffineDimExpr(loop, op.getContext()));
  };
  MatrixProduct product{0, 1, *ofFirst, *ofSecond, inner[0]};
  if (place(product.row) > place(product.column)) {
    std::swap(product.left, product.right);
    std::swap(product.row, product.column);
  }
  return product;
}

bool haveMatrixProduct(ArrayRef<Operation *> ops) {
  return llvm::any_of(
      ops, [](Operation *op) { return MatrixProduct::of(op).has_value(); });
}

} // namespace ltc::compiler
