//===- emit_rows.cpp - Sums along rows, in lanes --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

/// `unroll` vectors of one row side by side, each with sums of its own.
NestEmitter::Values NestEmitter::rowBlock(Value iv, ArrayRef<Value> sums,
                                          int64_t unroll) {
  Values next;
  for (int64_t u = 0; u < unroll; ++u) {
    Step step(*this, vectorLoop, plus(iv, u * lanes));
    llvm::append_range(
        next, vectorBody(Value(), sums.slice(u * results(), results())));
  }
  return next;
}

/// The vectors from `from` on, the last of them perhaps not a whole one.
NestEmitter::Values NestEmitter::rowRest(Value from, ArrayRef<Value> sums) {
  auto add = [&](Value iv, Value mask, ValueRange now) {
    Step step(*this, vectorLoop, iv);
    Values old = llvm::to_vector(now);
    Values next = vectorBody(mask, old);
    for (unsigned i = 0; mask && i < results(); ++i)
      next[i] = arith::SelectOp::create(b, mask, next[i], old[i]);
    return next;
  };
  Values first = llvm::to_vector(sums.take_front(results()));
  first = forVectors(from, first, add);
  llvm::append_range(first, sums.drop_front(results()));
  return first;
}

void NestEmitter::emitRow() {
  const Folding &folding = *choice.folding;
  int64_t extent = nest.loops[vectorLoop].extent;
  bool isKnown = !ShapedType::isDynamic(extent);
  int64_t unroll = unrollsAlong() ? schedule.unroll : 1;
  int64_t block = unroll * lanes;
  Value whole = wholeTurns(vectorLoop, block);
  auto all = strips(
      rounds(),
      {{unsigned(vectorLoop),
        isKnown ? std::max(extent / block * block, block) : extent, block}});
  auto isAlong = [&](const Strip &strip) {
    return int(strip.loop) == vectorLoop;
  };
  ArrayRef<Strip> along = ArrayRef(all).drop_until(isAlong);
  ArrayRef<Strip> around = ArrayRef(all).drop_back(along.size());

  Values inits, sums;
  for (unsigned i = 0; i < results(); ++i)
    inits.push_back(
        memref::LoadOp::create(b, resultBase(i), position[inputs + i]));
  for (int64_t u = 0; u < unroll; ++u)
    llvm::append_range(sums, folding.start(b, inits, lanes));
  sums = forStrips(around, sums, [&](Value, ArrayRef<Value> sums) {
    Values now = llvm::to_vector(sums);
    if (!isConstantIntValue(whole, 0))
      now = forLength(along, whole, now, [&](Value iv, ArrayRef<Value> sums) {
        return rowBlock(iv, sums, unroll);
      });
    return rowRest(whole, now);
  });

  ArrayRef<Value> blocks = sums;
  Values sum = llvm::to_vector(blocks.take_front(results()));
  for (int64_t u = 1; u < unroll; ++u)
    sum = folding.merge(b, sum, blocks.slice(u * results(), results()));
  sum = folding.merge(b, inits, folding.foldLanes(b, sum));
  for (unsigned i = 0; i < results(); ++i)
    memref::StoreOp::create(b, sum[i], resultBase(i), position[inputs + i]);
}

} // namespace ltc::compiler
