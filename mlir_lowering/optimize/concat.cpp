//===- concat.cpp - Elementwise ops on the parts of a whole -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f(concat(a, b), c) is concat(f(a, c_a), f(b, c_b)), with c_a and c_b the
// parts of c beside a and b: each part is then computed where it is wanted, and
// the concatenation of the operands is never in memory. Rotary embeddings,
// x * cos + concat(-x_2, x_1) * sin, are of this form.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/concat.h"

#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

std::optional<int64_t> partialDim(tensor::InsertSliceOp part) {
  std::optional<int64_t> found;
  RankedTensorType type = part.getDestType();
  if (part.getSourceType().getRank() != type.getRank())
    return std::nullopt;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (part.getStaticStride(dim) != 1)
      return std::nullopt;
    if (part.getSourceType().getDimSize(dim) == type.getDimSize(dim) &&
        part.getStaticOffset(dim) == 0)
      continue;
    if (found || type.isDynamicDim(dim) ||
        ShapedType::isDynamic(part.getStaticOffset(dim)) ||
        ShapedType::isDynamic(part.getStaticSize(dim)))
      return std::nullopt;
    found = dim;
  }
  return found;
}

std::optional<Concat> concatOf(tensor::InsertSliceOp last) {
  Concat concat;
  std::optional<int64_t> dim = partialDim(last);
  if (!dim)
    return std::nullopt;
  concat.dim = *dim;
  int64_t end = last.getDestType().getDimSize(*dim);
  Value rest = last.getResult();
  while (end > 0) {
    auto part = rest.getDefiningOp<tensor::InsertSliceOp>();
    if (!part || (part != last && !part->hasOneUse()) ||
        partialDim(part) != dim ||
        part.getStaticOffset(*dim) + part.getStaticSize(*dim) != end)
      return std::nullopt;
    end = part.getStaticOffset(*dim);
    concat.parts.push_back(part);
    rest = part.getDest();
  }
  if (!rest.getDefiningOp<tensor::EmptyOp>())
    return std::nullopt;
  std::reverse(concat.parts.begin(), concat.parts.end());
  return concat;
}

namespace {

/// Whether the parts are as good to loop over as the whole.
bool hasLongRows(Concat &concat, int64_t shortest) {
  return concat.dim + 1 < concat.parts[0].getDestType().getRank() ||
         llvm::all_of(concat.parts, [&](tensor::InsertSliceOp part) {
           return part.getStaticSize(concat.dim) >= shortest;
         });
}

bool readsPlainly(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr expr) {
    return isa<AffineDimExpr, AffineConstantExpr>(expr);
  });
}

bool isElementwise(GenericOp op) {
  return op.getNumParallelLoops() == op.getNumLoops() &&
         op->getNumResults() == 1 && !op.hasIndexSemantics() &&
         op.getIndexingMapsArray().back().isIdentity() &&
         op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() &&
         llvm::all_of(op.getIndexingMapsArray(), readsPlainly);
}

/// What one part of the iterations reads of an operand.
Value readBeside(OpBuilder &b, tensor::InsertSliceOp part, int64_t dim,
                 Value operand, AffineMap map) {
  auto position = map.getResultPosition(b.getAffineDimExpr(dim));
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type || !position)
    return operand;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      sizeValues(b, operand.getLoc(), sizesOf(operand));
  offsets[*position] = part.getMixedOffsets()[dim];
  sizes[*position] = part.getMixedSizes()[dim];
  return tensor::ExtractSliceOp::create(b, operand.getLoc(), operand, offsets,
                                        sizes, strides);
}

void distribute(GenericOp op, OpOperand &whole, const Concat &concat) {
  OpBuilder b(op);
  Value result = op.getDpsInits()[0];
  for (tensor::InsertSliceOp part : concat.parts) {
    IRMapping map;
    for (OpOperand &operand : op->getOpOperands())
      map.map(operand.get(),
              operand.get() == whole.get()
                  ? part.getSource()
                  : readBeside(b, part, concat.dim, operand.get(),
                               op.getMatchingIndexingMap(&operand)));
    Value init = tensor::EmptyOp::create(
        b, op.getLoc(), part.getMixedSizes(),
        cast<ShapedType>(result.getType()).getElementType());
    map.map(op.getDpsInits()[0], init);
    auto made = cast<GenericOp>(b.clone(*op, map));
    made->getResult(0).setType(cast<RankedTensorType>(init.getType()));
    result = tensor::InsertSliceOp::create(
        b, op.getLoc(), made->getResult(0), result, part.getMixedOffsets(),
        part.getMixedSizes(), part.getMixedStrides());
  }
  op->getResult(0).replaceAllUsesWith(result);
  op.erase();
  for (tensor::InsertSliceOp part : llvm::reverse(concat.parts))
    part.erase();
}

} // namespace

bool distributeOverParts(func::FuncOp main, const TargetFacts &facts) {
  bool changed = false;
  for (auto op : llvm::to_vector(main.getOps<GenericOp>())) {
    if (!isElementwise(op))
      continue;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto last = operand->get().getDefiningOp<tensor::InsertSliceOp>();
      if (!last || !last->hasOneUse())
        continue;
      auto concat = concatOf(last);
      if (!concat || concat->parts.size() > size_t(facts.concat_parts) ||
          !hasLongRows(*concat, facts.shortest_row) ||
          !op.getMatchingIndexingMap(operand).isIdentity())
        continue;
      distribute(op, *operand, *concat);
      changed = true;
      break;
    }
  }
  return changed;
}

} // namespace ltc::compiler
