//===- tile_kernel.cpp - Kernels into parallel loops ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/tile_kernel.h"

#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/optimize/tile_rows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// The largest divisor of `size` in [limit / 2, limit], or `limit`: a tile
/// that divides needs no code for the rest.
int64_t wholeTile(int64_t size, int64_t limit) {
  if (size <= limit)
    return size;
  for (int64_t tile = limit; 2 * tile >= limit; --tile)
    if (size % tile == 0 && tile % 16 == 0)
      return tile;
  return limit;
}

/// A symbolic size gets a tile that sizes some times its hint fit into.
int64_t tileFor(MLIRContext *context, int64_t size, int64_t limit,
                bool isOutermost = false) {
  constexpr int64_t room = 4;
  if (!isSymbolic(size))
    return wholeTile(size, limit);
  int64_t usual = sizeTable(context).hint(size);
  return isOutermost
             ? limit
             : std::min<int64_t>(limit, room * llvm::PowerOf2Ceil(usual));
}

/// The dimension along which an operand is dense, if it is not the one along
/// which the first result is: they are transposed in squares, which both have
/// to hold.
std::optional<int64_t> crossDim(GenericOp op) {
  auto fastest = [&](OpOperand &operand) -> std::optional<int64_t> {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() == 0)
      return std::nullopt;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    return dim ? std::optional<int64_t>(dim.getPosition()) : std::nullopt;
  };
  if (op.getNumDpsInits() == 0)
    return std::nullopt; // all that is left of it is a check
  auto along = fastest(*op.getDpsInitOperand(0));
  for (OpOperand &operand : op->getOpOperands()) {
    auto dim = fastest(operand);
    if (along && dim && dim != along &&
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(*along))
      return dim;
  }
  return std::nullopt;
}

SmallVector<int64_t> tileSizes(GenericOp op, ArrayRef<int64_t> rows,
                               const Schedule &schedule) {
  SmallVector<int64_t> sizes = rowCounts(op);
  SmallVector<int64_t> tiles(rows.size(), 1);
  MLIRContext *context = op.getContext();
  int64_t wide = schedule.wide_tile;
  bool isWide = wide && sizeTable(context).hint(sizes.back()) >= 2 * wide;
  int64_t limit = isWide ? wide : schedule.tile;
  auto cross = schedule.cross_tile ? crossDim(op) : std::nullopt;
  if (cross && llvm::is_contained(rows, *cross)) {
    size_t place = llvm::find(rows, *cross) - rows.begin();
    tiles[place] = std::max<int64_t>(
        1, tileFor(context, sizes[place], schedule.cross_tile));
    limit = std::max<int64_t>(schedule.cross_tile, limit / tiles[place]);
  }
  // Rows are in loop order: fill the limit from the innermost outwards.
  for (size_t i = rows.size(); i-- > 0 && limit > 1;) {
    if (cross == rows[i])
      continue;
    tiles[i] = std::max<int64_t>(1, tileFor(context, sizes[i], limit, i == 0));
    int64_t usual = sizeTable(context).hint(sizes[i]);
    limit /= std::clamp<int64_t>(usual, 1, tiles[i]);
  }
  return tiles;
}

/// Rows of a block to take at a time.
int64_t blockStep(ArrayRef<GenericOp> ops, ArrayRef<int64_t> tiles,
                  int64_t rows, int64_t points) {
  int64_t most = 1; // elements of a row
  for (GenericOp op : ops) {
    int64_t size = iterations(op);
    for (auto [count, tile] : llvm::zip_equal(rowCounts(op), tiles))
      size = size * tile / sizeTable(op.getContext()).hint(count);
    most = std::max(most, size / rows);
  }
  int64_t step = std::clamp<int64_t>(points / most, 1, rows);
  while (rows % step != 0)
    --step;
  return step;
}

RowTiles chooseTiles(ArrayRef<GenericOp> ops, const Schedule &schedule) {
  GenericOp last = ops.back();
  auto rows = last->getAttrOfType<DenseI64ArrayAttr>(attr::kRows).asArrayRef();
  RowTiles tiles{tileSizes(last, rows, schedule)};
  if (auto block = blockOf(ops)) {
    auto [row, size] = *block;
    tiles.sizes[row] = 1;
    tiles.blockStep = blockStep(ops, tiles.sizes, size, schedule.block_points);
  }
  return tiles;
}

} // namespace

LogicalResult tileKernel(func::FuncOp kernel, const Schedule &schedule) {
  if (kernel->getAttrOfType<StringAttr>(attr::kKind) == kind::kSerial)
    return success();
  SmallVector<GenericOp> ops;
  for (auto op : kernel.getOps<GenericOp>())
    if (op->hasAttr(attr::kRows))
      ops.push_back(op);
  return tileRows(kernel, ops, chooseTiles(ops, schedule));
}

} // namespace ltc::compiler
