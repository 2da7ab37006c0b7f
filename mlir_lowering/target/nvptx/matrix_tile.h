//===- matrix_tile.h - How a block shares a product -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/optimize/matrix_product.h"
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

namespace attr {
/// On a kernel with a product of matrices: its MatrixTile.
inline constexpr llvm::StringLiteral kMatrixTile = "ltc.matrix_tile";
} // namespace attr

/// The part of a product that is one block's: so many rows and columns, of
/// which it adds up `inner` products at a time. Warps share the rows, the
/// columns and, each with sums of its own, the products.
struct MatrixTile {
  int64_t rows, columns, inner;
  int64_t rowWarps, columnWarps, innerWarps;

  /// Of a product with these loops. Of few rows, blocks have few columns and
  /// read far along them, so that there are many.
  static MatrixTile of(mlir::linalg::GenericOp op,
                       const MatrixProduct &product);
  /// What `write` wrote; nothing if the kernel has no product.
  static std::optional<MatrixTile> read(mlir::func::FuncOp kernel);
  void write(mlir::func::FuncOp kernel) const;

  int64_t threads() const {
    return rowWarps * columnWarps * innerWarps * kWarp;
  }
  int64_t warpRows() const { return rows / rowWarps; }
  int64_t warpColumns() const { return columns / columnWarps; }
  /// Of the 16-bit factors of one turn.
  int64_t bytes() const { return 2 * inner * (rows + columns); }
};

/// Makes a kernel on tensors with a product a parallel loop over its tiles;
/// false if it has none, or shares not all rows with what else it computes.
mlir::FailureOr<bool> tileProduct(mlir::func::FuncOp kernel);

} // namespace ltc::compiler
