//===- vector_body.h - A linalg body over vectors ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/optimize/access.h"

#include "llvm/ADT/DenseMap.h"

namespace ltc::compiler {

/// What a value of the body is along the vectorised loop.
enum class Lanes {
  Uniform,  ///< one scalar
  Stepping, ///< a scalar index plus a constant times the lane's number
  Computed, ///< a vector, made of the above alone
  Varying,  ///< a vector
};

/// Decides whether a body can run over vectors of consecutive iterations of
/// one loop, and emits it.
class VectorBody {
public:
  VectorBody(mlir::linalg::GenericOp op, const Nest &nest, unsigned loop);

  bool isLegal() const { return legal; }

  struct Point {
    llvm::ArrayRef<mlir::Value> positions; ///< of each operand, at lane 0
    llvm::ArrayRef<mlir::Value> indices;   ///< of each dimension, at lane 0
    int64_t lanes;
    mlir::Value mask;                         ///< null: all lanes
    llvm::ArrayRef<mlir::Value> accumulators; ///< instead of loading results
    llvm::ArrayRef<mlir::Value> loaded{}; ///< operands' vectors; null: not yet
  };
  /// The values yielded, as vectors.
  llvm::SmallVector<mlir::Value> emit(mlir::ImplicitLocOpBuilder &b,
                                      const Point &point);

private:
  struct Kind {
    Lanes lanes = Lanes::Uniform;
    int64_t step = 0; ///< from lane to lane; of Computed, mostly
    bool isScalar() const {
      return lanes == Lanes::Uniform || lanes == Lanes::Stepping;
    }
  };
  void classify();
  bool classifyLoad(mlir::Operation *load);
  Kind combine(mlir::Operation *inner) const;
  int64_t usualStep(mlir::Operation *inner) const;
  bool hasOneRow(mlir::Operation *load) const;
  Kind kindOf(mlir::Value value) const;
  mlir::Value asVector(mlir::ImplicitLocOpBuilder &b, mlir::Value original,
                       int64_t lanes);
  mlir::Value loadOperand(mlir::ImplicitLocOpBuilder &b, unsigned number,
                          const Point &point);
  void emitOp(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
              const Point &point);
  void emitCheck(mlir::ImplicitLocOpBuilder &b, CheckOp check,
                 const Point &point);
  void emitLoad(mlir::ImplicitLocOpBuilder &b, mlir::Operation *load,
                const Point &point);
  mlir::Value gather(mlir::ImplicitLocOpBuilder &b, mlir::Operation *load,
                     const Point &point);

  mlir::linalg::GenericOp op;
  const Nest &nest;
  unsigned loop;
  bool legal = true;
  llvm::DenseMap<mlir::Value, Kind> kinds;
  llvm::DenseMap<mlir::Value, mlir::Value> emitted; ///< scalar or vector
};

/// Loads `lanes` elements at `position`, `stride` apart in the last dimension.
mlir::Value loadVector(mlir::ImplicitLocOpBuilder &b, mlir::Value base,
                       mlir::ValueRange position, int64_t stride, int64_t lanes,
                       mlir::Value mask);
/// Columns of a square as its rows.
llvm::SmallVector<mlir::Value> transposeSquare(mlir::ImplicitLocOpBuilder &b,
                                               mlir::ValueRange columns);
/// Stores a vector's elements from `position` on, `stride` apart.
void storeVector(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                 mlir::Value base, mlir::Value position, int64_t stride,
                 mlir::Value mask);

} // namespace ltc::compiler
