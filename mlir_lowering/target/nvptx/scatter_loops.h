//===- scatter_loops.h - Rows put where positions say -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/dialect/scatter_rows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

/// The scatter that a kernel is, or null.
CallOp scatterIn(mlir::func::FuncOp kernel);

/// The loops of a scatter on memrefs. Additions that the memory does at once
/// are shared by threads as they come. All others run in order: a block has a
/// part of the tensor, of which each thread writes its own elements only.
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
  Value threadId();
  Value positionOf(Value row);
  /// Runs `emit` for each of so many blocks, at its number.
  void forBlocks(int64_t blocks, llvm::function_ref<void(Value)> emit);
  void forLoop(Value from, Value to, int64_t step,
               llvm::function_ref<void(Value)> emit);
  void addAtOnce(Value block);
  void writeInOrder(Value block);
  Value combine(Value before, Value added);

  mlir::ImplicitLocOpBuilder b;
  CallOp scatter;
  Value positions, source, to;
  int64_t rows, length, elements;
  int64_t threads;
};

} // namespace ltc::compiler
