//===- sum_parts.cpp - Sums of tensors that are zero but for a part -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a part, x[:, i] or x[a:b], is a tensor of zeros with a
// gradient in it. Of a sequence that a loop goes through there is one for each
// step, as large as the sequence, and their sum is the sequence's gradient. So
// such a tensor is added to its part of the sum alone; where the sum has
// nothing yet, it is put there; and parts one behind the other are a
// concatenation. (What zeros are added to stays what it is, -0 too.)
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/concat.h"
#include "mlir_lowering/optimize/in_place.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using linalg::GenericOp;
using tensor::InsertSliceOp;

namespace ltc::compiler {

static bool isZero(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && (matchPattern(fill.value(), m_PosZeroFloat()) ||
                  matchPattern(fill.value(), m_Zero()));
}

/// Whether an op is the sum of two tensors of its own type, element by element,
/// which may be computed in a wider type.
static bool isSum(GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_equal(op->getOperandTypes()) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = op.getBody();
  Value sum = body->getTerminator()->getOperand(0);
  if (auto narrowed = sum.getDefiningOp<arith::TruncFOp>())
    sum = narrowed.getIn();
  Operation *add = sum.getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(add))
    return false;
  auto term = [&](unsigned number) {
    Value value = add->getOperand(number);
    if (auto widened = value.getDefiningOp<arith::ExtFOp>())
      value = widened.getIn();
    return value;
  };
  auto are = [&](unsigned first, unsigned second) {
    return term(0) == body->getArgument(first) &&
           term(1) == body->getArgument(second);
  };
  return are(0, 1) || are(1, 0);
}

/// Whether a tensor is zero where `part` is to be put.
static bool isZeroAt(Value tensor, InsertSliceOp part) {
  constexpr size_t most = 2048; // keeps compile time in bounds
  for (size_t i = 0; i < most; ++i) {
    auto insert = tensor.getDefiningOp<InsertSliceOp>();
    if (!insert)
      return isZero(tensor);
    if (!areApart(insert, part))
      return false;
    tensor = insert.getDest();
  }
  return false;
}

/// Replaces a sum with a tensor that is zero but for a part; none if no operand
/// is one.
static InsertSliceOp addToPart(GenericOp sum) {
  for (unsigned number : {1, 0}) {
    auto part = sum.getDpsInputs()[number].getDefiningOp<InsertSliceOp>();
    Value rest = sum.getDpsInputs()[1 - number];
    if (!part || !part->hasOneUse() || !isZero(part.getDest()))
      continue;
    ImplicitLocOpBuilder b(sum.getLoc(), sum);
    Value value = part.getSource();
    if (!isZeroAt(rest, part)) {
      RankedTensorType type = part.getSourceType();
      SmallVector<int64_t> sizes = sizesOf(value);
      if (llvm::any_of(sizes, ShapedType::isDynamic))
        continue;
      Value before = tensor::ExtractSliceOp::create(
          b, type, rest, part.getMixedOffsets(), part.getMixedSizes(),
          part.getMixedStrides());
      Value init = tensor::EmptyOp::create(b, sizeValues(b, b.getLoc(), sizes),
                                           type.getElementType());
      SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(type.getRank()));
      SmallVector<utils::IteratorType> loops(type.getRank(),
                                             utils::IteratorType::parallel);
      auto added =
          GenericOp::create(b, TypeRange(type), ValueRange{before, value},
                            ValueRange(init), maps, loops);
      IRMapping mapping;
      sum.getRegion().cloneInto(&added.getRegion(), mapping);
      value = added.getResult(0);
    }
    auto insert =
        InsertSliceOp::create(b, value, rest, part.getMixedOffsets(),
                              part.getMixedSizes(), part.getMixedStrides());
    sum->replaceAllUsesWith(insert);
    sum.erase();
    part.erase();
    return insert;
  }
  return {};
}

/// The inserts into zeros of which `last` is the last, in the order of their
/// places, if they lie one behind the other, perhaps with gaps.
static SmallVector<InsertSliceOp> partsInOrder(InsertSliceOp last) {
  std::optional<int64_t> dim = partialDim(last);
  SmallVector<InsertSliceOp> parts;
  Value rest = last.getResult();
  while (auto part = rest.getDefiningOp<InsertSliceOp>()) {
    if (!dim || partialDim(part) != dim || (part != last && !part->hasOneUse()))
      return {};
    parts.push_back(part);
    rest = part.getDest();
  }
  if (parts.size() < 2 || !isZero(rest))
    return {};
  llvm::sort(parts, [&](InsertSliceOp a, InsertSliceOp b) {
    return a.getStaticOffset(*dim) < b.getStaticOffset(*dim);
  });
  for (auto [before, next] : llvm::zip(parts, llvm::drop_begin(parts)))
    if (before.getStaticOffset(*dim) + before.getStaticSize(*dim) >
        next.getStaticOffset(*dim))
      return {};
  return parts;
}

/// Writes inserts into zeros as a concatenation, with zeros for the gaps.
static void concatenate(InsertSliceOp last) {
  SmallVector<InsertSliceOp> parts = partsInOrder(last);
  SmallVector<int64_t> sizes = sizesOf(last.getResult());
  if (parts.empty() || llvm::any_of(sizes, ShapedType::isDynamic))
    return;
  int64_t dim = *partialDim(last), length = sizes[dim];
  Type element = last.getDestType().getElementType();
  ImplicitLocOpBuilder b(last.getLoc(), last);
  auto emptyOf = [&](ArrayRef<int64_t> sizes) -> Value {
    return tensor::EmptyOp::create(b, sizeValues(b, b.getLoc(), sizes),
                                   element);
  };
  Value whole = emptyOf(sizes);
  int64_t end = 0;
  auto put = [&](Value part, int64_t begin, int64_t size) {
    SmallVector<int64_t> shape = sizes;
    shape[dim] = size;
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
        strides(sizes.size(), b.getIndexAttr(1));
    offsets[dim] = b.getIndexAttr(begin);
    whole = InsertSliceOp::create(b, part, whole, offsets,
                                  sizeValues(b, b.getLoc(), shape), strides);
    end = begin + size;
  };
  auto fillUpTo = [&](int64_t begin) {
    if (begin == end)
      return;
    SmallVector<int64_t> gap = sizes;
    gap[dim] = begin - end;
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    auto fill = linalg::FillOp::create(b, zero, emptyOf(gap));
    put(fill.getResult(0), end, gap[dim]);
  };
  for (InsertSliceOp part : parts) {
    fillUpTo(part.getStaticOffset(dim));
    put(part.getSource(), part.getStaticOffset(dim), part.getStaticSize(dim));
  }
  fillUpTo(length);
  last.replaceAllUsesWith(whole);
}

LogicalResult sumParts(func::FuncOp main, const OptimizeOptions &options) {
  if (!options.optimizations.accumulate)
    return success();
  SmallVector<GenericOp> sums;
  for (auto op : main.getOps<GenericOp>())
    if (isSum(op))
      sums.push_back(op);
  SmallVector<InsertSliceOp> inserts;
  for (GenericOp sum : sums)
    if (InsertSliceOp insert = addToPart(sum))
      inserts.push_back(insert);
  for (InsertSliceOp insert : inserts) {
    bool isLast = llvm::none_of(insert->getUses(), [](OpOperand &use) {
      auto next = dyn_cast<InsertSliceOp>(use.getOwner());
      return next && next.getDest() == use.get();
    });
    if (isLast)
      concatenate(insert);
  }
  return success();
}

} // namespace ltc::compiler
