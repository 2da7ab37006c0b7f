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
// then shuffles and shared memory add those. Other sums are a thread's own. Of
// a row that is short enough, each thread holds its own elements. Where a block
// has several teams, all of this is a team's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/nest_writer.h"
#include "mlir_lowering/target/nvptx/registers.h"
#include "mlir_lowering/target/nvptx/teams.h"

namespace ltc::compiler {

class BlockNest : NestWriter {
public:
  /// Vectors have `vectorLanes` elements, unless an op wants fewer.
  BlockNest(mlir::linalg::GenericOp op, Team team, int64_t vectorLanes,
            unsigned vectorBits, Registers &registers);

  /// Replaces the op by its loops.
  void run();

  // A maximum of a row, and a sum below it (online_sum.cpp).
  /// Whether both are done in one read, of a row that registers do not hold.
  bool isBelow(BlockNest &max);
  /// Replaces both ops by their loops.
  void runBelow(BlockNest &max);

private:
  /// In its team.
  Value threadId();
  /// Runs `emit` at each point of these loops, the last of them fastest, which
  /// the threads share.
  void share(llvm::ArrayRef<unsigned> loops, llvm::function_ref<void()> emit);
  void enter(llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<Value> counts,
             Value point, llvm::function_ref<void()> emit);
  /// Of a loop: vectors of the vectorised one, else iterations.
  Value countOf(unsigned loop);

  void emitShared();
  /// A vector of the results, or what is left of a row of unknown length.
  void emitVectors();
  void emitVector();
  /// Each row by all threads.
  void emitRows(llvm::ArrayRef<unsigned> rows);
  void emitRow();

  // Sums along columns, of which there are few (fold_columns.cpp).
  /// Threads that add up one vector of columns together, or 1.
  int64_t columnTeam();
  void emitColumns(int64_t team);
  Values addShare(int64_t team, Value member, Values sums);
  Value isInside();

  // Rows that begin anywhere (peeled_row.cpp).
  struct Peeled {
    Value head;    ///< elements in front of the vectors
    Value vectors; ///< elements in vectors
    Value singles; ///< all others
    Value placeOf(mlir::ImplicitLocOpBuilder &b, Value single) const;
  };
  bool isPeeled();
  Peeled peel();
  llvm::SmallVector<Strip> stripsOfRow(int64_t step);
  Values peeledVectors(const Peeled &row, Values sums, Leaf emit);
  Values peeledScalars(const Peeled &row, Values sums, Leaf emit);
  void emitPeeled();
  Values inVectors(const Peeled &row, int64_t turn, Values otherwise,
                   llvm::function_ref<Values()> emit);
  Values inSingles(const Peeled &row, Values otherwise,
                   llvm::function_ref<Values()> emit);
  Values loadPeeled(const Peeled &row, unsigned operand);
  void foldPeeled();

  // Operands that lie across the results (transposed_tile.cpp).
  bool isTransposed();
  void emitTransposed();

  // Elements that stay one thread's (own_elements.cpp).
  /// How all operands are shared, if each is a value for all threads or goes
  /// along the only loop.
  std::optional<Registers::Sharing> ownSharing();
  llvm::SmallVector<Registers::Use> uses();
  bool isUniform(unsigned operand);
  /// Whether registers hold so many elements of all that the op reads.
  bool fits(int64_t elements);
  int64_t turns();
  void emitOwn();
  /// Runs `emit` at this thread's vector of a turn; `otherwise` if there is
  /// none.
  Values inTurn(int64_t turn, Values otherwise,
                llvm::function_ref<Values()> emit);
  Value loadUniform(unsigned operand);
  /// For each turn, the value of each operand that the body reads.
  llvm::SmallVector<Values> loadOwn();
  Value zero(Value memref);
  void holdTurns(unsigned operand, llvm::function_ref<Value(size_t)> valueOf,
                 size_t turns);
  void computeOwn(llvm::ArrayRef<Values> loaded);
  void foldOwn(llvm::ArrayRef<Values> loaded);
  void storeUniform(llvm::ArrayRef<Value> values);

  llvm::SmallVector<Values> loadRow(llvm::ArrayRef<Value> places);
  Values seeBelow(BlockNest &max, llvm::ArrayRef<Value> seen,
                  llvm::ArrayRef<Value> places, bool isVector);
  Values seeVectors(BlockNest &max, Values seen, Value from, Value vectors);

  // What the threads have added up (fold_block.cpp).
  Values foldBlock(Values values);
  /// Memory of the block.
  Value scratch(mlir::Type element, int64_t count);
  Values foldThreads(Values values, int64_t width);
  Value shuffle(Value value, int64_t distance);

  const bool hasBlock; ///< a team does not share its block
  const int64_t threads;
  Registers &registers;
  std::optional<Registers::Sharing> own;
  int foldLoop = -1; ///< which all threads run together, each its share
};

/// The sum of exponentials of what lies below the maximum that an op takes of a
/// row, among the ops behind it, if nothing stands between but what that sum
/// starts from; or null.
mlir::linalg::GenericOp
sumBelow(mlir::linalg::GenericOp max,
         llvm::ArrayRef<mlir::linalg::GenericOp> behind);

} // namespace ltc::compiler
