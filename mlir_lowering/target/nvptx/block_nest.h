//===- block_nest.h - The loops of an op, shared by a block -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a block share the points of the parallel loops: vectors of 16
// bytes where memory and body allow, so that neighbours read what lies side by
// side. Sums of few results are folded by all threads: each adds up its share,
// then shuffles and shared memory add those. Other sums are a thread's own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/nest_writer.h"
#include "mlir_lowering/target/tuning.h"

namespace ltc::compiler {

class BlockNest : NestWriter {
public:
  BlockNest(mlir::linalg::GenericOp op, int64_t threads,
            const TargetFacts &facts);

  /// Replaces the op by its loops.
  void run();

private:
  Value threadId();
  /// Runs `emit` at each point of these loops, the last of them fastest, which
  /// the threads share.
  void share(llvm::ArrayRef<unsigned> loops, llvm::function_ref<void()> emit);
  void enter(llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<Value> counts,
             Value point, llvm::function_ref<void()> emit);
  /// Of a loop: vectors of the vectorised one, else iterations.
  Value countOf(unsigned loop);

  /// A vector of the results, or what is left of a row of unknown length.
  void emitVectors();
  void emitVector();
  /// Each row by all threads.
  void emitRows(llvm::ArrayRef<unsigned> rows);
  void emitRow();

  // What the threads have added up (fold_block.cpp).
  Values foldBlock(Values values);
  Values foldThreads(Values values, int64_t width);
  Value shuffle(Value value, int64_t distance);

  const int64_t threads;
  int foldLoop = -1; ///< which all threads run together, each its share
};

} // namespace ltc::compiler
