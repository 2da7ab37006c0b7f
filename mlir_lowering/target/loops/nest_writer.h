//===- nest_writer.h - What loops over a linalg op are made of --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions, loops and bodies of one linalg op on memrefs. Which loops there
// are, and who runs which of their iterations, is what a target adds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/choose_loops.h"
#include "mlir_lowering/target/loops/pairwise_sum.h"
#include "mlir_lowering/target/loops/vector_body.h"

namespace ltc::compiler {

class NestWriter {
protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Choose =
      llvm::function_ref<LoopChoice(mlir::linalg::GenericOp, const Nest &)>;

  NestWriter(mlir::linalg::GenericOp op, Choose choose);

  /// Moves every operand to iteration `iv` of a loop, until the guard dies.
  struct Step {
    Step(NestWriter &writer, unsigned loop, Value iv);
    ~Step();
    NestWriter &writer;
    unsigned loop;
    Values saved;
  };

  //===--------------------------------------------------------------------===//
  // Loops and positions
  //===--------------------------------------------------------------------===//

  Value index(int64_t value);
  Value plus(Value index, int64_t by);
  Value extentOf(unsigned loop);
  /// What is left of a loop after whole turns of `step` starts here.
  Value wholeTurns(unsigned loop, int64_t step);

  Values forLoop(Value from, Value to, int64_t step, mlir::ValueRange init,
                 llvm::function_ref<Values(Value, mlir::ValueRange)> emit);
  /// What one of two branches makes of `carried`.
  Values ifElse(Value condition, llvm::ArrayRef<Value> carried,
                llvm::function_ref<Values(llvm::ArrayRef<Value>)> emitThen,
                llvm::function_ref<Values(llvm::ArrayRef<Value>)> emitElse);

  /// Index values of the op's dimensions, at lane 0.
  Values indices();
  /// Positions with those of general maps worked out.
  Values positions();

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

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  Values vectorBody(Value mask, llvm::ArrayRef<Value> accumulators,
                    llvm::ArrayRef<Value> loaded = {});
  unsigned results() { return op.getNumDpsInits(); }
  Value resultBase(unsigned i) { return nest.accesses[inputs + i].base; }
  Values loadResults(Value mask);
  /// All but those that are null here.
  void storeResults(llvm::ArrayRef<Value> values, Value mask);
  Values scalarBody(mlir::ValueRange accumulators,
                    llvm::ArrayRef<Value> loaded = {});
  /// All reductions for one element of the results (emit_scalars.cpp).
  void emitScalars();

  mlir::linalg::GenericOp op;
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
