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
//   scalars     everything else                          (emit_scalars.cpp)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/cpu/loops/cascade.h"
#include "mlir_lowering/target/cpu/loops/choose_loops.h"
#include "mlir_lowering/target/cpu/loops/vector_body.h"
#include "mlir_lowering/target/tuning.h"

namespace ltc::compiler {

class NestEmitter {
public:
  NestEmitter(mlir::linalg::GenericOp op, const Schedule &schedule,
              const TargetFacts &facts);

  /// Replaces the op by its loops: over vectors along the loop that runs
  /// through memory, with sums in registers; over scalars where the body or the
  /// memory does not allow that.
  void run();

private:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  /// Moves every operand to iteration `iv` of a loop, until the guard dies.
  struct Step {
    Step(NestEmitter &emitter, unsigned loop, Value iv);
    ~Step();
    NestEmitter &emitter;
    unsigned loop;
    Values saved;
  };

  /// Takes other memory for the results, until the guard dies.
  struct Redirect {
    Redirect(NestEmitter &emitter, llvm::ArrayRef<Value> buffers);
    ~Redirect();
    NestEmitter &emitter;
    Values bases, saved;
  };

  //===--------------------------------------------------------------------===//
  // Loops and positions
  //===--------------------------------------------------------------------===//

  Value index(int64_t value);
  Value plus(Value index, int64_t by);
  Value extentOf(unsigned loop);
  /// What is left of a loop after whole turns of `step` starts here.
  Value wholeTurns(unsigned loop, int64_t step);

  /// Whether the vectorised loop takes several vectors at a time.
  bool unrollsAlong();

  Values forLoop(Value from, Value to, int64_t step, mlir::ValueRange init,
                 llvm::function_ref<Values(Value, mlir::ValueRange)> emit);
  /// Runs `emit(iv, mask, carried)` over vectors along the vectorised loop.
  Values
  forVectors(Value from, Values carried,
             llvm::function_ref<Values(Value, Value, mlir::ValueRange)> emit);
  /// What one of two branches makes of `carried`.
  Values ifElse(Value condition, llvm::ArrayRef<Value> carried,
                llvm::function_ref<Values(llvm::ArrayRef<Value>)> emitThen,
                llvm::function_ref<Values(llvm::ArrayRef<Value>)> emitElse);

  //===--------------------------------------------------------------------===//
  // Loops that reduce (emit_sums.cpp)
  //===--------------------------------------------------------------------===//

  /// Whether it shows how many terms a sum has.
  bool rounds() { return choice.folding && choice.folding->rounds(); }
  /// The reduction loops but the vectorised one, with others inside.
  llvm::SmallVector<Strip> strips(bool inParts,
                                  llvm::ArrayRef<Reduction> inside = {});
  /// Runs `leaf(iv, sums)` inside the strips; `iv` is of the last one.
  using Leaf = llvm::function_ref<Values(Value, llvm::ArrayRef<Value>)>;
  Values forStrips(llvm::ArrayRef<Strip> strips, Values sums, Leaf leaf);
  Values forStrips(llvm::ArrayRef<Strip> strips, Value from, Value to,
                   Values sums, Leaf leaf);
  /// The strips of one loop, from 0 on; fewer where it turns out to be short.
  Values forLength(llvm::ArrayRef<Strip> strips, Value length, Values sums,
                   Leaf leaf);
  Value endOfTurn(const Strip &strip, Value iv, Value end);
  /// `add` adds to sums of its own, which then join `sums`.
  Values addApart(llvm::ArrayRef<Value> sums,
                  llvm::function_ref<Values(llvm::ArrayRef<Value>)> add);

  /// Index values of the op's dimensions, at lane 0.
  Values indices();
  /// Positions with those of general maps worked out.
  Values positions();
  Values vectorBody(Value mask, llvm::ArrayRef<Value> accumulators,
                    llvm::ArrayRef<Value> loaded = {});

  unsigned results() { return op.getNumDpsInits(); }
  Value resultBase(unsigned i) { return nest.accesses[inputs + i].base; }
  Values loadResults(Value mask);
  /// All but those that are null here.
  void storeResults(llvm::ArrayRef<Value> values, Value mask);
  /// Whether the body is so cheap that its loops would dominate.
  bool isCheap();

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
  void emitScalars();
  Values scalarBody(mlir::ValueRange accumulators);

  mlir::linalg::GenericOp op;
  const Schedule &schedule;
  const TargetFacts &facts;
  mlir::ImplicitLocOpBuilder b;
  Nest nest;
  unsigned inputs;
  LoopChoice choice;
  const int vectorLoop, crossLoop;
  const int64_t lanes;
  std::optional<VectorBody> body;
  Values at;       ///< iteration of each open loop
  Values position; ///< of each operand
  llvm::SmallVector<unsigned> outer, reductions;
};

} // namespace ltc::compiler
