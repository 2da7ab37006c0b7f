//===- tile_rows.cpp - One parallel loop around several ops -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's tile-and-fuse starts from one op and replays producers; a group
// has several results (a norm's mean and rstd, saved activations), and all of
// its ops agree on their rows, so each op is simply tiled once, in order.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/tile_rows.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/optimize.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

ArrayRef<int64_t> rowsOf(GenericOp op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(attr::kRows).asArrayRef();
}

LogicalResult checkRows(GenericOp op) {
  if (llvm::any_of(loopSizes(op), ShapedType::isDynamic))
    return op.emitError("nothing says how long a loop is");
  auto iterators = op.getIteratorTypesArray();
  for (int64_t row : rowsOf(op)) {
    if (iterators[row] != utils::IteratorType::parallel)
      return op.emitError("a reduction must not be split over threads");
    for (OpOperand &init : op.getDpsInitsMutable())
      if (!op.getMatchingIndexingMap(&init).getResultPosition(
              getAffineDimExpr(row, op.getContext())))
        return op.emitError("a row dimension does not index every result");
  }
  return success();
}

class RowTiler {
public:
  RowTiler(func::FuncOp kernel, ArrayRef<GenericOp> ops,
           ArrayRef<int64_t> tiles)
      : ops(ops), ret(kernel.getBody().front().getTerminator()), b(ret),
        tiles(tiles) {}

  LogicalResult run() {
    makeLoop();
    for (GenericOp op : ops)
      if (failed(tile(op)))
        return failure();
    writeResults();
    for (GenericOp op : llvm::reverse(ops))
      op->erase();
    return success();
  }

private:
  void makeLoop() {
    GenericOp last = ops.back();
    Location loc = last.getLoc();
    SmallVector<int64_t> sizes = loopSizes(last);
    SmallVector<OpFoldResult> lower, upper, step;
    for (auto [row, tile] : llvm::zip_equal(rowsOf(last), tiles)) {
      lower.push_back(b.getIndexAttr(0));
      upper.push_back(sizeValue(b, loc, sizes[row]));
      step.push_back(b.getIndexAttr(tile));
    }
    SmallVector<Value> outs;
    for (Value returned : ret->getOperands()) {
      auto insert = returned.getDefiningOp<tensor::InsertSliceOp>();
      inserts.push_back(insert);
      results.push_back(insert ? insert.getSource() : returned);
      outs.push_back(insert ? partWritten(insert) : emptyLike(returned));
    }
    loop =
        scf::ForallOp::create(b, loc, lower, upper, step, outs, std::nullopt);

    b.setInsertionPointToStart(loop.getBody());
    for (auto [iv, high, tile] :
         llvm::zip_equal(loop.getInductionVars(), upper, tiles)) {
      offsets.push_back(OpFoldResult(iv));
      auto size = getConstantIntValue(high);
      if (size ? *size % tile == 0 : tile == 1) {
        extents.push_back(b.getIndexAttr(tile));
        continue;
      }
      AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
      AffineExpr end = size ? b.getAffineConstantExpr(*size) : s0;
      auto map = AffineMap::get(
          1, !size, {b.getAffineConstantExpr(tile), end - d0}, b.getContext());
      SmallVector<OpFoldResult> operands{OpFoldResult(iv)};
      if (!size)
        operands.push_back(high);
      extents.push_back(
          affine::makeComposedFoldedAffineMin(b, loc, map, operands));
    }
    for (auto [result, argument] :
         llvm::zip_equal(results, loop.getRegionIterArgs()))
      destination.try_emplace(result, argument);
    for (GenericOp op : llvm::reverse(ops))
      for (auto [result, init] :
           llvm::zip_equal(op.getResults(), op.getDpsInits()))
        if (Value to = destination.lookup(result);
            to && init.hasOneUse() && init.getDefiningOp<GenericOp>())
          destination.try_emplace(init, to);
  }

  Value emptyLike(Value tensor) {
    return tensor::EmptyOp::create(
        b, tensor.getLoc(), sizeValues(b, tensor.getLoc(), sizesOf(tensor)),
        getElementTypeOrSelf(tensor));
  }

  /// The part of its destination that an insert overwrites.
  Value partWritten(tensor::InsertSliceOp insert) {
    // CSE may have made one of all new tensors of a type.
    if (insert.getDest().getDefiningOp<tensor::EmptyOp>())
      insert.getDestMutable().assign(emptyLike(insert.getDest()));
    return tensor::ExtractSliceOp::create(
        b, insert.getLoc(), insert.getSourceType(), insert.getDest(),
        insert.getMixedOffsets(), insert.getMixedSizes(),
        insert.getMixedStrides());
  }

  LogicalResult tile(GenericOp op) {
    SmallVector<int64_t> sizes = loopSizes(op);
    SmallVector<OpFoldResult> from(sizes.size(), b.getIndexAttr(0)), count;
    for (int64_t size : sizes)
      count.push_back(sizeValue(b, op.getLoc(), size));
    for (auto [row, offset, extent] :
         llvm::zip_equal(rowsOf(op), offsets, extents)) {
      from[row] = offset;
      count[row] = extent;
    }
    // A result that leaves the loop is computed in its place there.
    for (auto [result, init] :
         llvm::zip_equal(op.getResults(), op.getDpsInitsMutable()))
      if (Value to = destination.lookup(result);
          to && init.get().getDefiningOp<tensor::EmptyOp>())
        init.set(to);

    auto tiling = cast<TilingInterface>(op.getOperation());
    FailureOr<TilingResult> tiled =
        tiling.getTiledImplementation(b, from, count);
    if (failed(tiled))
      return op.emitError("this op cannot be tiled");
    for (Operation *slice : tiled->generatedSlices)
      if (Value value = inside.lookup(slice->getOperand(0))) {
        slice->getResult(0).replaceAllUsesWith(value);
        slice->erase();
      } else if (slice->getOperand(0).getDefiningOp<tensor::EmptyOp>()) {
        shrinkEmpty(cast<tensor::ExtractSliceOp>(slice));
      }
    for (Operation *made : tiled->tiledOps) {
      made->removeAttr(attr::kRows);
      for (OpOperand &operand : made->getOpOperands())
        if (Value value = inside.lookup(operand.get()))
          operand.set(value);
    }
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), tiled->tiledValues)) {
      inside[result] = value;
      auto &place = places[result];
      if (failed(tiling.getResultTilePosition(
              b, cast<OpResult>(result).getResultNumber(), from, count,
              place.first, place.second)))
        return op.emitError("this op's result cannot be tiled");
    }
    return success();
  }

  /// A temporary is as large as its tile.
  static void shrinkEmpty(tensor::ExtractSliceOp slice) {
    OpBuilder here(slice);
    Value small =
        tensor::EmptyOp::create(here, slice.getLoc(), slice.getMixedSizes(),
                                slice.getType().getElementType());
    slice.getResult().replaceAllUsesWith(small);
    slice.erase();
  }

  void writeResults() {
    b.setInsertionPointToEnd(loop.getTerminator().getBody());
    for (auto [result, argument] :
         llvm::zip_equal(results, loop.getRegionIterArgs())) {
      auto &[offset, size] = places[result];
      SmallVector<OpFoldResult> strides(offset.size(), b.getIndexAttr(1));
      tensor::ParallelInsertSliceOp::create(b, loop.getLoc(), inside[result],
                                            argument, offset, size, strides);
    }
    ret->setOperands(loop.getResults());
    b.setInsertionPoint(ret);
    for (auto [insert, operand] :
         llvm::zip_equal(inserts, ret->getOpOperands()))
      if (insert) {
        insert->moveBefore(ret);
        insert.getSourceMutable().assign(operand.get());
        operand.set(insert.getResult());
      }
  }

  ArrayRef<GenericOp> ops;
  Operation *ret;
  OpBuilder b;
  ArrayRef<int64_t> tiles;
  scf::ForallOp loop;
  SmallVector<Value> results; ///< what the loop makes of each returned value
  SmallVector<tensor::InsertSliceOp> inserts; ///< where it goes; or null
  SmallVector<OpFoldResult> offsets, extents;
  llvm::DenseMap<Value, Value> destination; ///< of results that leave the loop
  llvm::DenseMap<Value, Value> inside;      ///< the tile of each result
  llvm::DenseMap<
      Value, std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>>
      places;
};

} // namespace

LogicalResult tileRows(func::FuncOp kernel, ArrayRef<GenericOp> ops,
                       ArrayRef<int64_t> tiles) {
  for (GenericOp op : ops)
    if (failed(checkRows(op)))
      return failure();
  return RowTiler(kernel, ops, tiles).run();
}

} // namespace ltc::compiler
