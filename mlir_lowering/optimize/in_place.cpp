//===- in_place.cpp - Kernels that may overwrite an operand -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/in_place.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir_lowering/dialect/scatter_rows.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// Positions of the row dimensions in an operand or result, or nothing if one
/// of them does not index it as a plain dimension.
static std::optional<SmallVector<unsigned>> rowPositions(GenericOp op,
                                                         AffineMap map) {
  SmallVector<unsigned> positions;
  for (int64_t row :
       op->getAttrOfType<DenseI64ArrayAttr>(attr::kRows).asArrayRef()) {
    auto position =
        map.getResultPosition(getAffineDimExpr(row, map.getContext()));
    if (!position)
      return std::nullopt;
    positions.push_back(*position);
  }
  return positions;
}

static bool haveOneWidth(Type a, Type b) {
  return a == b || (a.isIntOrFloat() && b.isIntOrFloat() &&
                    a.getIntOrFloatBitWidth() == b.getIntOrFloatBitWidth());
}

/// True if an iteration that writes its rows of `result` reads of `argument`
/// nothing but the same rows, each element before it is overwritten.
static bool mayShare(BlockArgument argument, OpResult result) {
  auto writer = dyn_cast<GenericOp>(result.getOwner());
  auto from = dyn_cast<RankedTensorType>(argument.getType());
  auto to = dyn_cast<RankedTensorType>(result.getType());
  if (!writer || !from || !to || sizesOf(argument) != sizesOf(result) ||
      !haveOneWidth(from.getElementType(), to.getElementType()))
    return false;
  // What it accumulates on is written before the first element is read.
  if (writer.payloadUsesValueFromOperand(
          writer.getDpsInitOperand(result.getResultNumber())))
    return false;
  AffineMap written = writer.getIndexingMapMatchingResult(result);
  auto rows = rowPositions(writer, written);
  if (!rows || !written.isProjectedPermutation())
    return false;
  for (OpOperand &use : argument.getUses()) {
    auto reader = dyn_cast<GenericOp>(use.getOwner());
    if (!reader || !reader.isDpsInput(&use) || writer->isBeforeInBlock(reader))
      return false;
    AffineMap read = reader.getMatchingIndexingMap(&use);
    if (reader == writer) {
      // Element by element: no other loop may come back to what was written.
      if (read != written || read.getNumResults() != writer.getNumLoops())
        return false;
    } else if (!read.isProjectedPermutation() ||
               rowPositions(reader, read) != rows) {
      return false;
    }
  }
  return true;
}

namespace {
struct Range {
  int64_t first, size, step;
  bool isKnown() const {
    return !ShapedType::isDynamic(first) && !ShapedType::isDynamic(size) &&
           !ShapedType::isDynamic(step);
  }
  int64_t last() const { return first + (size - 1) * step; }
};
} // namespace

bool areApart(OffsetSizeAndStrideOpInterface a,
              OffsetSizeAndStrideOpInterface b) {
  auto range = [](OffsetSizeAndStrideOpInterface op, unsigned dim) -> Range {
    return {op.getStaticOffset(dim), op.getStaticSize(dim),
            op.getStaticStride(dim)};
  };
  for (unsigned dim = 0; dim < a.getStaticOffsets().size(); ++dim) {
    Range one = range(a, dim), other = range(b, dim);
    if (!one.isKnown() || !other.isKnown())
      continue;
    bool alternate =
        one.step == other.step && (one.first - other.first) % one.step != 0;
    if (alternate || one.last() < other.first || other.last() < one.first)
      return true;
  }
  return false;
}

bool liesBeside(Value part, tensor::InsertSliceOp insert) {
  auto slice = part.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSource() == insert.getDest() &&
         areApart(slice, insert);
}

/// An op that overwrites a part of a tensor and keeps the rest.
static Value updatedTensor(OpResult result) {
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(result.getOwner()))
    return insert.getDest();
  if (auto insert = dyn_cast<tensor::InsertOp>(result.getOwner()))
    return insert.getDest();
  if (CallOp scatter = scatterRows(result.getOwner()))
    return scatter.getOuts()[0];
  return {};
}

/// Whether a kernel reads nothing of a tensor that it overwrites there.
static bool readsOnlyBeside(Value dest, Operation *update) {
  auto insert = dyn_cast<tensor::InsertSliceOp>(update);
  return llvm::all_of(dest.getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return user == update || (insert && slice && liesBeside(slice, insert));
  });
}

void markSharedBuffers(func::FuncOp kernel, bool mayOverwrite) {
  SmallVector<int64_t> inPlace, updates;
  Operation *ret = kernel.getBody().front().getTerminator();
  for (OpOperand &returned : ret->getOpOperands()) {
    auto result = dyn_cast<OpResult>(returned.get());
    if (!result)
      continue;
    int64_t number = returned.getOperandNumber();
    if (auto dest = dyn_cast_if_present<BlockArgument>(updatedTensor(result));
        dest && readsOnlyBeside(dest, result.getOwner())) {
      updates.append({int64_t(dest.getArgNumber()), number});
      continue;
    }
    for (BlockArgument argument : kernel.getArguments())
      if (mayOverwrite && mayShare(argument, result))
        inPlace.append({int64_t(argument.getArgNumber()), number});
  }
  Builder b(kernel.getContext());
  kernel->setAttr(attr::kInPlace, b.getDenseI64ArrayAttr(inPlace));
  kernel->setAttr(attr::kUpdates, b.getDenseI64ArrayAttr(updates));
}

void separateReads(OpBuilder &b, bufferization::ToTensorOp whole,
                   Value updated) {
  auto insert = updated.getDefiningOp<tensor::InsertSliceOp>();
  auto isBeside = [&](OpOperand &use) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner());
    return insert && slice && liesBeside(slice, insert);
  };
  if (llvm::none_of(whole->getUses(), isBeside))
    return;
  auto read = bufferization::ToTensorOp::create(
      b, whole.getLoc(), whole.getType(), whole.getBuffer(), /*restrict=*/true,
      /*writable=*/false);
  whole->getResult(0).replaceUsesWithIf(read, isBeside);
}

} // namespace ltc::compiler
