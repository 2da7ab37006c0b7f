//===- fold_columns.cpp - Sums along columns, by teams of threads ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile has fewer vectors of columns than a block has threads. So each vector
// has a team: its threads add up rows in turn, and the first of them adds what
// the others leave in shared memory.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"
#include "mlir_lowering/target/nvptx/choose_shares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;

namespace ltc::compiler {

int64_t BlockNest::columnTeam() {
  constexpr int64_t mostMemory = 32 * 1024;
  if (vectorLoop < 0 || reductions.empty() || !choice.folding ||
      choice.folding->isChoice())
    return 1;
  int64_t vectors = 1, bytes = 0;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    bool isVector = int(number) == vectorLoop;
    if (!loop.reduction)
      vectors *= isVector                             ? mostOf(loop) / lanes
                 : ShapedType::isDynamic(loop.extent) ? 0
                                                      : loop.extent;
  }
  for (Value result : op.getDpsInits())
    bytes += elementBytes(getElementTypeOrSelf(result)) * threads * lanes;
  if (!vectors || 2 * vectors > threads || bytes > mostMemory)
    return 1;
  int64_t rows = nest.loops[reductions.front()].extent,
          most = threads / vectors;
  return ShapedType::isDynamic(rows) ? most
                                     : std::clamp<int64_t>(rows / 2, 1, most);
}

/// What one member of a team adds up: every `team`-th row.
BlockNest::Values BlockNest::addShare(int64_t team, Value member, Values sums) {
  unsigned shared = reductions.front();
  reductions.erase(reductions.begin());
  auto all = strips(rounds(), {{shared, nest.loops[shared].extent, team}});
  ArrayRef<Strip> along = ArrayRef(all).drop_until(
      [&](const Strip &strip) { return strip.loop == shared; });
  ArrayRef<Strip> around = ArrayRef(all).drop_back(along.size());
  return forStrips(around, sums, [&](Value, ArrayRef<Value> sums) {
    return forStrips(
        along, member, extentOf(shared), llvm::to_vector(sums),
        [&](Value, ArrayRef<Value> sums) { return vectorBody(Value(), sums); });
  });
}

/// Whether this vector is one of the tile's, which may be a shorter one.
Value BlockNest::isInside() {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at[vectorLoop],
                               extentOf(vectorLoop));
}

void BlockNest::emitColumns(int64_t team) {
  SmallVector<unsigned> loops = outer;
  loops.push_back(vectorLoop);
  Values counts;
  int64_t vectors = 1;
  for (unsigned loop : loops) {
    int64_t count = mostOf(nest.loops[loop]);
    count = int(loop) == vectorLoop ? count / lanes : count;
    counts.push_back(index(count));
    vectors *= count;
  }
  Value thread = threadId();
  Value vector = b.createOrFold<arith::RemUIOp>(thread, index(vectors));
  Value member = b.createOrFold<arith::DivUIOp>(thread, index(vectors));
  Values sums, memory;
  SmallVector<Type> types;
  for (Value result : op.getDpsInits())
    types.push_back(VectorType::get({lanes}, getElementTypeOrSelf(result)));
  Value hasWork =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, member, index(team));
  enter(loops, counts, vector, [&] {
    hasWork = b.createOrFold<arith::AndIOp>(hasWork, isInside());
    sums = ifElse(
        hasWork, choice.folding->neutral(b, types),
        [&](ArrayRef<Value> sums) {
          return addShare(team, member, llvm::to_vector(sums));
        },
        [](ArrayRef<Value> sums) { return llvm::to_vector(sums); });
  });
  auto placeOf = [&](Value thread) {
    return b.createOrFold<arith::MulIOp>(thread, index(lanes));
  };
  for (Value sum : sums) {
    Type element = cast<VectorType>(sum.getType()).getElementType();
    memory.push_back(scratch(element, threads * lanes));
    vector::StoreOp::create(b, sum, memory.back(), placeOf(thread));
  }
  gpu::BarrierOp::create(b);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, member, index(0));
  isFirst = b.createOrFold<arith::AndIOp>(isFirst, hasWork);
  auto join = [&](ArrayRef<Value>) {
    enter(loops, counts, thread, [&] {
      Values all = forLoop(
          thread, index(vectors * team), vectors, loadResults(Value()),
          [&](Value other, ValueRange before) {
            Values parts;
            for (auto [sum, place] : llvm::zip_equal(sums, memory))
              parts.push_back(vector::LoadOp::create(
                  b, cast<VectorType>(sum.getType()), place, placeOf(other)));
            return choice.folding->merge(b, llvm::to_vector(before), parts);
          });
      storeResults(all, Value());
    });
    return Values();
  };
  ifElse(isFirst, {}, join, [](ArrayRef<Value>) { return Values(); });
}

} // namespace ltc::compiler
