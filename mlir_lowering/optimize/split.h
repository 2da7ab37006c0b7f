//===- split.h - A reduction cut into parts ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/combiner.h"

namespace ltc::compiler {

/// Which loop of a reduction is cut into how many parts of which length.
struct Split {
  unsigned dim = 0;
  int64_t length = 1, parts = 0, rest = 0; ///< `rest` iterations are in no part
  /// Loops around that one of which each iteration has parts of its own.
  llvm::SmallVector<unsigned> around;

  /// Of a loop of so many iterations into parts of about `wanted`; of a
  /// symbolic number, as many as divide its formula.
  static Split ofLoop(SizeTable &table, unsigned dim, int64_t size,
                      int64_t wanted);
};

/// Replaces an op by one of parts, which are rows of its results, and one that
/// adds up what they gave. Needs projected permutations as maps, and no index.
class Splitter {
public:
  Splitter(mlir::linalg::GenericOp op, const Folding &folding,
           const Split &split)
      : op(op), folding(folding), split(split), b(op.getLoc(), op) {}

  /// Returns what is left to do: the sum of parts.
  mlir::linalg::GenericOp run();
  /// The same for blocks of rows, which stand behind another op. What is left
  /// to do waits until it is read: it would keep that op's loop from moving on.
  mlir::linalg::GenericOp runBehind(mlir::Operation *place);

private:
  using GenericOp = mlir::linalg::GenericOp;
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Maps = llvm::SmallVector<mlir::AffineMap>;

  mlir::Operation *firstReader();
  GenericOp withLoops(llvm::ArrayRef<Value> inputs, llvm::ArrayRef<Value> inits,
                      llvm::ArrayRef<mlir::AffineMap> maps,
                      llvm::ArrayRef<mlir::utils::IteratorType> iterators);
  Value slice(mlir::OpOperand &operand, int64_t from, int64_t count);
  Values reduceRest(llvm::ArrayRef<Value> before);
  Value neutral(unsigned i);
  llvm::SmallVector<mlir::Type> elementTypes();
  unsigned partLoop();
  mlir::AffineExpr part();
  mlir::AffineExpr beside(unsigned dim);
  Values makeParts();
  void addLength(Values &inputs, Maps &maps);
  GenericOp reduceParts(llvm::ArrayRef<Value> parts,
                        llvm::ArrayRef<Value> before);

  GenericOp op;
  const Folding &folding;
  const Split &split;
  mlir::ImplicitLocOpBuilder b;
  bool isBlocks = false;
};

} // namespace ltc::compiler
