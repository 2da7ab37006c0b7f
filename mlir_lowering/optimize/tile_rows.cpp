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
// Where an iteration is a block of rows that is also summed along its columns,
// a loop inside goes through the block, few rows at a time: what the ops hand
// each other stays in the first cache, and so do the sums.
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

ArrayRef<int64_t> unitsOf(GenericOp op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(attr::kUnits).asArrayRef();
}

LogicalResult checkRows(GenericOp op) {
  SmallVector<int64_t> sizes = loopSizes(op);
  if (llvm::any_of(sizes, ShapedType::isDynamic))
    return op.emitError("nothing says how long a loop is");
  auto iterators = op.getIteratorTypesArray();
  for (auto [row, unit] : llvm::zip_equal(rowsOf(op), unitsOf(op))) {
    if (!isSymbolic(sizes[row]) && sizes[row] % unit != 0)
      return op.emitError("blocks of rows leave a rest");
    if (iterators[row] != utils::IteratorType::parallel)
      return op.emitError("a reduction must not be split over threads");
    for (OpOperand &init : op.getDpsInitsMutable())
      if (!op.getMatchingIndexingMap(&init).getResultPosition(
              getAffineDimExpr(row, op.getContext())))
        return op.emitError("a row dimension does not index every result");
  }
  return success();
}

using Indices = SmallVector<OpFoldResult>;

class RowTiler {
public:
  RowTiler(func::FuncOp kernel, ArrayRef<GenericOp> ops, const RowTiles &tiles)
      : ops(ops), ret(kernel.getBody().front().getTerminator()), b(ret),
        tiles(tiles), block(blockOf(ops)) {}

  LogicalResult run() {
    makeLoop();
    SmallVector<GenericOp> others = llvm::to_vector(ops);
    if (block) {
      for (GenericOp op : ops)
        if (startsSums(op) && failed(tile(op)))
          return failure();
      llvm::erase_if(others, [&](GenericOp op) { return startsSums(op); });
      if (failed(enterBlock()))
        return failure();
    }
    for (GenericOp op : others)
      if (failed(tile(op)))
        return failure();
    if ((block && failed(leaveBlock())) || failed(writeResults()))
      return failure();
    for (GenericOp op : llvm::reverse(ops))
      op->erase();
    return success();
  }

private:
  void makeLoop() {
    GenericOp last = ops.back();
    Location loc = last.getLoc();
    Indices lower, upper, step;
    for (auto [size, tile] : llvm::zip_equal(rowCounts(last), tiles.sizes)) {
      lower.push_back(b.getIndexAttr(0));
      upper.push_back(sizeValue(b, loc, size));
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
         llvm::zip_equal(loop.getInductionVars(), upper, tiles.sizes)) {
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
    computeIn(loop.getRegionIterArgs());
  }

  /// Has results that leave the loop computed in their place there.
  void computeIn(ValueRange places) {
    destination.clear();
    for (auto [result, place] : llvm::zip_equal(results, places))
      destination.try_emplace(result, place);
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

  OpFoldResult times(OpFoldResult count, int64_t unit) {
    return affine::makeComposedFoldedAffineApply(
        b, loop.getLoc(), b.getAffineDimExpr(0) * unit, count);
  }

  /// From which iteration of each of its loops on an op runs, and how many: in
  /// a block of rows, those that the loop through it is at.
  std::pair<Indices, Indices> bounds(GenericOp op) {
    SmallVector<int64_t> sizes = loopSizes(op);
    Indices from(sizes.size(), b.getIndexAttr(0)), count;
    for (int64_t size : sizes)
      count.push_back(sizeValue(b, op.getLoc(), size));
    for (auto [row, unit, offset, extent] :
         llvm::zip_equal(rowsOf(op), unitsOf(op), offsets, extents)) {
      from[row] = unit == 1 ? offset : times(offset, unit);
      count[row] = unit == 1 ? extent : times(extent, unit);
    }
    if (rows) {
      int64_t dim = sumsBlocks(op)
                        ? op->getAttrOfType<DenseI64ArrayAttr>(attr::kBlocks)[1]
                        : rowsOf(op)[block->first];
      from[dim] = affine::makeComposedFoldedAffineApply(
          b, loop.getLoc(), b.getAffineDimExpr(0) + b.getAffineDimExpr(1),
          {from[dim], OpFoldResult(rows.getInductionVar())});
      count[dim] = b.getIndexAttr(tiles.blockStep);
    }
    return {from, count};
  }

  LogicalResult tile(GenericOp op) {
    auto [from, count] = bounds(op);
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
      for (StringRef name : {attr::kRows, attr::kUnits, attr::kBlocks})
        made->removeAttr(name);
      for (OpOperand &operand : made->getOpOperands())
        if (Value value = inside.lookup(operand.get()))
          operand.set(value);
    }
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), tiled->tiledValues))
      inside[result] = value;
    return success();
  }

  /// Where in a result the tile is that runs now: offsets and sizes.
  FailureOr<std::pair<Indices, Indices>> placeOf(Value result) {
    auto op = cast<GenericOp>(result.getDefiningOp());
    auto [from, count] = bounds(op);
    std::pair<Indices, Indices> place;
    if (failed(cast<TilingInterface>(op.getOperation())
                   .getResultTilePosition(
                       b, cast<OpResult>(result).getResultNumber(), from, count,
                       place.first, place.second)))
      return op.emitError("this op's result cannot be tiled");
    return place;
  }

  Indices ones(size_t rank) { return Indices(rank, b.getIndexAttr(1)); }

  //===--------------------------------------------------------------------===//
  // Through a block of rows
  //===--------------------------------------------------------------------===//

  bool isRowOfBlock(GenericOp op) { return unitsOf(op)[block->first] != 1; }
  bool sumsBlocks(GenericOp op) {
    return !isRowOfBlock(op) && op->hasAttr(attr::kBlocks);
  }
  /// Whether it is what the sums of a block start from.
  bool startsSums(GenericOp op) {
    return !isRowOfBlock(op) && !op->hasAttr(attr::kBlocks);
  }

  static OpOperand &initOf(Value result) {
    auto op = cast<GenericOp>(result.getDefiningOp());
    return *op.getDpsInitOperand(cast<OpResult>(result).getResultNumber());
  }

  /// What has been computed of a result, in the tensor of all tiles.
  FailureOr<Value> insert(Value result, Value tensor) {
    auto place = placeOf(result);
    if (failed(place))
      return failure();
    auto &[offset, size] = *place;
    return tensor::InsertSliceOp::create(b, loop.getLoc(), inside[result],
                                         tensor, offset, size,
                                         ones(offset.size()))
        .getResult();
  }

  /// The loop through the rows carries the tensors of all results.
  LogicalResult enterBlock() {
    Location loc = loop.getLoc();
    SmallVector<Value> carried;
    for (auto [result, argument] :
         llvm::zip_equal(results, loop.getRegionIterArgs())) {
      carried.push_back(argument);
      Value start = initOf(result).get();
      if (!inside.contains(start))
        continue;
      FailureOr<Value> started = insert(start, argument);
      if (failed(started))
        return failure();
      carried.back() = *started;
    }
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    rows = scf::ForOp::create(b, loc, index(0), index(block->second),
                              index(tiles.blockStep), carried);
    b.setInsertionPointToStart(rows.getBody());
    computeIn(rows.getRegionIterArgs());
    for (auto [result, argument] :
         llvm::zip_equal(results, rows.getRegionIterArgs()))
      if (inside.contains(initOf(result).get()))
        initOf(result).set(argument);
    return success();
  }

  LogicalResult leaveBlock() {
    SmallVector<Value> next;
    for (auto [result, argument] :
         llvm::zip_equal(results, rows.getRegionIterArgs())) {
      FailureOr<Value> written = insert(result, argument);
      if (failed(written))
        return failure();
      next.push_back(*written);
    }
    scf::YieldOp::create(b, loop.getLoc(), next);
    b.setInsertionPointAfter(rows);
    ValueRange finished = rows.getResults();
    rows = {};
    for (auto [result, tensor] : llvm::zip_equal(results, finished)) {
      auto place = placeOf(result);
      if (failed(place))
        return failure();
      auto &[offset, size] = *place;
      inside[result] = tensor::ExtractSliceOp::create(
          b, loop.getLoc(), tensor, offset, size, ones(offset.size()));
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

  LogicalResult writeResults() {
    for (auto [result, argument] :
         llvm::zip_equal(results, loop.getRegionIterArgs())) {
      b.setInsertionPoint(loop.getTerminator());
      auto place = placeOf(result);
      if (failed(place))
        return failure();
      auto &[offset, size] = *place;
      b.setInsertionPointToEnd(loop.getTerminator().getBody());
      tensor::ParallelInsertSliceOp::create(b, loop.getLoc(), inside[result],
                                            argument, offset, size,
                                            ones(offset.size()));
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
    return success();
  }

  ArrayRef<GenericOp> ops;
  Operation *ret;
  OpBuilder b;
  const RowTiles &tiles;
  std::optional<std::pair<size_t, int64_t>> block;
  scf::ForallOp loop;
  scf::ForOp rows;            ///< through a block; null outside of it
  SmallVector<Value> results; ///< what the loop makes of each returned value
  SmallVector<tensor::InsertSliceOp> inserts; ///< where it goes; or null
  Indices offsets, extents;
  llvm::DenseMap<Value, Value> destination; ///< of results that leave the loop
  llvm::DenseMap<Value, Value> inside;      ///< the tile of each result
};

} // namespace

SmallVector<int64_t> rowCounts(GenericOp op) {
  SmallVector<int64_t> sizes = loopSizes(op), counts;
  SizeTable &table = sizeTable(op.getContext());
  for (auto [row, unit] : llvm::zip_equal(rowsOf(op), unitsOf(op)))
    counts.push_back(isSymbolic(sizes[row])
                         ? table.size(table.formula(sizes[row]).dividedBy(unit))
                         : sizes[row] / unit);
  return counts;
}

std::optional<std::pair<size_t, int64_t>> blockOf(ArrayRef<GenericOp> ops) {
  for (GenericOp op : ops)
    for (auto [row, unit] : llvm::enumerate(unitsOf(op)))
      if (unit != 1)
        return std::pair(row, unit);
  return std::nullopt;
}

LogicalResult tileRows(func::FuncOp kernel, ArrayRef<GenericOp> ops,
                       const RowTiles &tiles) {
  for (GenericOp op : ops)
    if (failed(checkRows(op)))
      return failure();
  return RowTiler(kernel, ops, tiles).run();
}

} // namespace ltc::compiler
