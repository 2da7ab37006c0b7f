//===- product_loops.h - Products of matrices by tensor cores ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the result. Of both factors, parts are copied to
// shared memory, some turns ahead; each warp reads its own into registers, as
// matrices of 8 x 8, and multiplies 16 x 16 by 16 x 8. Sums are in f32 until
// the end, when they go to the op's result: the tile's, in shared memory, if
// the kernel computes further.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/nvptx/matrix_tile.h"
#include "mlir_lowering/target/nvptx/registers.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

class ProductLoops {
public:
  ProductLoops(mlir::linalg::GenericOp op, const MatrixTile &tile,
               Registers &registers);

  /// Replaces the op by its loops. Fails, with a diagnostic, if the kernel has
  /// no memory left for the factors.
  mlir::LogicalResult emit();

private:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  /// One of the factors, of which a tile is `outer` rows or columns.
  struct Side {
    Value memref;
    unsigned outerDim = 0, innerDim = 0; ///< of the memref
    int64_t outer = 0;                   ///< of a tile
    Value extent;                        ///< of the tile that is there
    bool isWhole = false; ///< the tile, and all turns, lie within the factor
    bool isAlong = false; ///< neighbours in memory are along the sum
    Value isAligned;      ///< to 16 bytes; null: not known to be
    Value memory;         ///< of all stages, a row behind the other
    int64_t rows = 0, columns = 0; ///< of a stage in memory
  };
  Side sideOf(unsigned operand, unsigned loop, int64_t outer);
  mlir::LogicalResult placeStages();

  // Copies to shared memory.
  void copyStages(Value turn, Value slot);
  void copyStage(Side &side, Value turn, Value slot);
  void copyElements(Side &side, Value at, Value column, mlir::ValueRange from,
                    Value elements);
  void commit();
  /// Where the 16 bytes lie of a row of a stage that are number `chunk`: in
  /// another order in each row, so that rows read at once are in other banks.
  Value columnOf(const Side &side, Value row, Value chunk);

  // What a warp does.
  Value fragment(Side &side, Value slot, Value outer, Value inner);
  Values multiply(Value slot, mlir::ValueRange sums);
  Values multiplyOnce(Value left, Value right, unsigned half, Values sums);
  void store(mlir::ValueRange sums);
  void storeOne(Value row, Value column, Value sum);

  Value index(int64_t number);
  Value add(Value left, Value right);
  Value times(Value value, int64_t by);
  Value over(Value value, int64_t by);
  Value rest(Value value, int64_t by);
  Value isBelow(Value value, Value bound);
  void ifTrue(Value condition, llvm::function_ref<void()> emitThen,
              llvm::function_ref<void()> emitElse = {});

  mlir::ImplicitLocOpBuilder b;
  mlir::linalg::GenericOp op;
  MatrixProduct product;
  MatrixTile tile;
  Registers &registers;
  int64_t extent, turns, stages = 3;
  mlir::Type element;
  Side left, right;
  Value token; ///< of the last group of copies
  Value thread, lane, rowWarp, columnWarp, innerWarp;
};

} // namespace ltc::compiler
