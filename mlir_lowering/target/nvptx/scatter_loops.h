//===- scatter_loops.h - Rows put where positions say -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/dialect/scatter_rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

/// The scatter that a kernel is, or null.
CallOp scatterIn(mlir::func::FuncOp kernel);

/// The loops of a scatter on memrefs. What the memory does at once, such as an
/// addition, is shared by threads as it comes. All others run in order: a block
/// has a part of the tensor, of which each thread writes its own elements only.
class ScatterLoops {
public:
  /// At most so many threads share an iteration.
  ScatterLoops(CallOp scatter, int64_t mostThreads);

  /// Replaces the scatter, which is all that the kernel does.
  void emit(mlir::func::FuncOp kernel);

private:
  using Value = mlir::Value;
  using Type = mlir::Type;

  bool isOrdered();
  Value index(int64_t number);
  /// Of a size, which may be symbolic.
  Value sizeIndex(int64_t size);
  int64_t product(int64_t size, int64_t by);
  /// For what code is made fast.
  int64_t usual(int64_t size);
  Value threadId();
  Value positionOf(Value row);
  Value loadSource(Value at);
  /// Runs `emit` for each block, which has `each` of so many, at its first one
  /// and where it ends.
  void forBlocks(int64_t size, int64_t each,
                 llvm::function_ref<void(Value, Value)> emit);
  void forLoop(Value from, Value to, int64_t step,
               llvm::function_ref<void(Value)> emit);
  void combineAtOnce(Value first, Value end);
  void combineInOrder(Value begin, Value end);
  /// Of elements of that type.
  mlir::arith::AtomicRMWKind kindFor(Type type);
  Value combine(Value before, Value added);

  mlir::ImplicitLocOpBuilder b;
  CallOp scatter;
  Value positions, source, to;
  int64_t rows, length, elements; ///< sizes, which may be symbolic
  int64_t threads;
};

} // namespace ltc::compiler
