//===- matrix_tile.cpp - How a block shares a product ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/matrix_tile.h"

#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/optimize/tile_rows.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

MatrixTile MatrixTile::of(GenericOp op, const MatrixProduct &product) {
  constexpr int64_t fewRows = 16;
  if (op.getStaticLoopRanges()[product.row] <= fewRows)
    return {16, 32, 128, 1, 1, 4};
  return {64, 64, 32, 2, 2, 1};
}

std::optional<MatrixTile> MatrixTile::read(func::FuncOp kernel) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(attr::kMatrixTile);
  if (!numbers || numbers.size() != 6)
    return std::nullopt;
  return MatrixTile{numbers[0], numbers[1], numbers[2],
                    numbers[3], numbers[4], numbers[5]};
}

void MatrixTile::write(func::FuncOp kernel) const {
  int64_t numbers[] = {rows, columns, inner, rowWarps, columnWarps, innerWarps};
  kernel->setAttr(attr::kMatrixTile,
                  DenseI64ArrayAttr::get(kernel.getContext(), numbers));
}

FailureOr<bool> tileProduct(func::FuncOp kernel) {
  SmallVector<GenericOp> ops;
  for (auto op : kernel.getOps<GenericOp>())
    if (op->hasAttr(attr::kRows))
      ops.push_back(op);
  auto found = llvm::find_if(
      ops, [](GenericOp op) { return MatrixProduct::of(op).has_value(); });
  if (found == ops.end())
    return false;
  GenericOp op = *found;
  MatrixProduct product = *MatrixProduct::of(op);
  auto rows = op->getAttrOfType<DenseI64ArrayAttr>(attr::kRows).asArrayRef();
  SmallVector<int64_t> sizes = rowCounts(op);
  if (llvm::any_of(sizes, isSymbolic) || blockOf(ops) ||
      int64_t(rows.size()) != op.getNumParallelLoops())
    return false;
  MatrixTile tile = MatrixTile::of(op, product);
  RowTiles tiles{SmallVector<int64_t>(rows.size(), 1)};
  for (auto [row, size, step] : llvm::zip_equal(rows, sizes, tiles.sizes)) {
    if (row == int64_t(product.row))
      step = std::min(size, tile.rows);
    else if (row == int64_t(product.column))
      step = std::min(size, tile.columns);
  }
  tile.write(kernel);
  if (failed(tileRows(kernel, ops, tiles)))
    return failure();
  return true;
}

} // namespace ltc::compiler
