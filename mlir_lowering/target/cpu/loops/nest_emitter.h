//===- nest_emitter.h - Writes the loops of one linalg op -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parallel loops outside; inside them one of four forms:
//   pointwise   vectors innermost; squares of vectors where an operand runs
//               along another loop                       (emit_pointwise.cpp)
//   columns     vectors along a parallel loop, accumulated over reductions
//                                   (emit_columns.cpp, emit_whole_rows.cpp)
//   rows        vectors along a reduction, folded at its end (emit_rows.cpp)
//   scalars     everything else (loops/emit_scalars.cpp)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/nest_writer.h"
#include "mlir_lowering/target/tuning.h"

namespace ltc::compiler {

class NestEmitter : NestWriter {
public:
  NestEmitter(mlir::linalg::GenericOp op, const Schedule &schedule,
              const TargetFacts &facts);

  /// Replaces the op by its loops: over vectors along the loop that runs
  /// through memory, with sums in registers; over scalars where the body or the
  /// memory does not allow that.
  void run();

private:
  /// Takes other memory for the results, until the guard dies.
  struct Redirect {
    Redirect(NestEmitter &emitter, llvm::ArrayRef<Value> buffers);
    ~Redirect();
    NestEmitter &emitter;
    Values bases, saved;
  };

  /// Whether the vectorised loop takes several vectors at a time.
  bool unrollsAlong();
  /// Whether the body is so cheap that its loops would dominate.
  bool isCheap();
  /// Runs `emit(iv, mask, carried)` over vectors along the vectorised loop.
  Values
  forVectors(Value from, Values carried,
             llvm::function_ref<Values(Value, Value, mlir::ValueRange)> emit);

  //===--------------------------------------------------------------------===//
  // The forms
  //===--------------------------------------------------------------------===//

  void emitOuter(unsigned level);
  void emitPointwise(Value from);
  void emitSquares();
  void emitSquare(Value row, Value column);
  void emitColumns();
  void emitColumnBlock(Value iv, Value mask, int64_t unroll);

  llvm::FailureOr<int64_t> mostColumns();
  bool readsWholeRows();
  void emitWholeRows();
  void addRows(Value first, int64_t count);
  void addStrips(llvm::ArrayRef<Strip> strips, Value from, Value to);
  Values columnBuffers();
  void addThrough(llvm::ArrayRef<Value> buffers,
                  llvm::function_ref<void()> add);

  void emitRow();
  Values rowBlock(Value iv, llvm::ArrayRef<Value> sums, int64_t unroll);
  Values rowRest(Value from, llvm::ArrayRef<Value> sums);

  const Schedule &schedule;
  const TargetFacts &facts;
};

} // namespace ltc::compiler
