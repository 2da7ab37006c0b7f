//===- block_nest.cpp - The loops of an op, shared by a block -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"

#include "mlir_lowering/target/nvptx/choose_shares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

BlockNest::BlockNest(GenericOp op, Team team, int64_t vectorLanes,
                     unsigned vectorBits, Registers &registers)
    : NestWriter(op,
                 [=](GenericOp op, const Nest &nest) {
                   return chooseShares(op, nest, vectorBits, vectorLanes);
                 }),
      hasBlock(team.count == 1), threads(team.threads), registers(registers),
      foldLoop(chooseFold(nest, choice, threads)) {
  llvm::erase_if(reductions,
                 [&](unsigned loop) { return int(loop) == foldLoop; });
}

Value BlockNest::threadId() {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  return hasBlock ? thread : arith::RemUIOp::create(b, thread, index(threads));
}

Value BlockNest::countOf(unsigned loop) {
  Value extent = extentOf(loop);
  return int(loop) == vectorLoop
             ? b.createOrFold<arith::CeilDivUIOp>(extent, index(lanes))
             : extent;
}

void BlockNest::enter(ArrayRef<unsigned> loops, ArrayRef<Value> counts,
                      Value point, llvm::function_ref<void()> emit) {
  if (loops.empty())
    return emit();
  Value iv = point, rest = point;
  if (loops.size() > 1) {
    iv = b.createOrFold<arith::RemUIOp>(point, counts.back());
    rest = b.createOrFold<arith::DivUIOp>(point, counts.back());
  }
  if (int(loops.back()) == vectorLoop)
    iv = b.createOrFold<arith::MulIOp>(iv, index(lanes));
  Step step(*this, loops.back(), iv);
  enter(loops.drop_back(), counts.drop_back(), rest, emit);
}

void BlockNest::share(ArrayRef<unsigned> loops,
                      llvm::function_ref<void()> emit) {
  Values counts;
  Value points = index(1);
  for (unsigned loop : loops) {
    counts.push_back(countOf(loop));
    points = b.createOrFold<arith::MulIOp>(points, counts.back());
  }
  forLoop(threadId(), points, threads, {}, [&](Value point, ValueRange) {
    enter(loops, counts, point, emit);
    return Values();
  });
}

void BlockNest::emitVector() {
  if (reductions.empty())
    return storeResults(vectorBody(Value(), {}), Value());
  Values sums = forStrips(
      strips(rounds()), loadResults(Value()),
      [&](Value, ArrayRef<Value> sums) { return vectorBody(Value(), sums); });
  storeResults(sums, Value());
}

void BlockNest::emitVectors() {
  if (!ShapedType::isDynamic(nest.loops[vectorLoop].extent))
    return emitVector();
  Value from = at[vectorLoop], extent = extentOf(vectorLoop);
  Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                        plus(from, lanes), extent);
  auto vector = [&](ArrayRef<Value>) {
    emitVector();
    return Values();
  };
  auto scalars = [&](ArrayRef<Value>) {
    Value rest = b.createOrFold<arith::SubIOp>(extent, from);
    forLoop(index(0), rest, 1, {}, [&](Value iv, ValueRange) {
      Step step(*this, vectorLoop, iv); // from where the vector begins
      at[vectorLoop] = arith::AddIOp::create(b, from, iv);
      emitScalars();
      return Values();
    });
    at[vectorLoop] = from;
    return Values();
  };
  ifElse(isWhole, {}, vector, scalars);
}

void BlockNest::emitRows(ArrayRef<unsigned> rows) {
  if (rows.empty())
    return emitRow();
  forLoop(index(0), extentOf(rows.front()), 1, {}, [&](Value iv, ValueRange) {
    Step step(*this, rows.front(), iv);
    emitRows(rows.drop_front());
    return Values();
  });
}

void BlockNest::emitRow() {
  const Folding &folding = *choice.folding;
  bool isVector = vectorLoop >= 0;
  auto all = strips(rounds(), {{unsigned(foldLoop), nest.loops[foldLoop].extent,
                                threads * lanes}});
  ArrayRef<Strip> along = ArrayRef(all).drop_until(
      [&](const Strip &strip) { return int(strip.loop) == foldLoop; });
  ArrayRef<Strip> around = ArrayRef(all).drop_back(along.size());
  Values inits, sums, start = positions();
  for (unsigned i = 0; i < results(); ++i)
    inits.push_back(
        memref::LoadOp::create(b, resultBase(i), start[inputs + i]));
  if (isVector)
    sums = folding.start(b, inits, lanes);
  else // choosing a value twice is choosing it once
    sums = folding.isChoice()
               ? inits
               : folding.neutral(b, ValueRange(inits).getTypes());
  Value thread = threadId();
  Value from = b.createOrFold<arith::MulIOp>(thread, index(lanes));
  auto add = [&](Value iv, ArrayRef<Value> sums) {
    if (!isVector)
      return scalarBody(sums);
    Step step(*this, vectorLoop, iv);
    return vectorBody(Value(), sums);
  };
  sums = forStrips(around, sums, [&](Value, ArrayRef<Value> sums) {
    return forStrips(along, from, extentOf(foldLoop), llvm::to_vector(sums),
                     add);
  });
  if (isVector)
    sums = folding.foldLanes(b, sums);
  sums = folding.merge(b, inits, foldBlock(sums));
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  auto store = [&](ArrayRef<Value>) {
    for (unsigned i = 0; i < results(); ++i)
      memref::StoreOp::create(b, sums[i], resultBase(i), start[inputs + i]);
    return Values();
  };
  ifElse(isFirst, {}, store, [](ArrayRef<Value>) { return Values(); });
}

void BlockNest::run() {
  own = ownSharing();
  registers.enter(op, uses());
  b.setInsertionPoint(op);
  if (own)
    emitOwn();
  else
    emitShared();
  op.erase();
}

void BlockNest::emitShared() {
  for (Value result : op.getDpsInits())
    registers.forget(result);
  if (isPeeled()) {
    emitPeeled();
  } else if (isTransposed()) {
    emitTransposed();
  } else if (foldLoop >= 0) {
    emitRows(outer);
  } else if (int64_t team = columnTeam(); team > 1) {
    emitColumns(team);
  } else if (vectorLoop >= 0) {
    SmallVector<unsigned> loops = outer;
    loops.push_back(vectorLoop);
    share(loops, [&] { emitVectors(); });
  } else {
    share(outer, [&] { emitScalars(); });
  }
}

} // namespace ltc::compiler
