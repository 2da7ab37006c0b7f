//===- emit_rows.cpp - Sums along rows, in lanes --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/nest_emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

constexpr int64_t kUnroll = 4;

void NestEmitter::emitRow() {
  int64_t extent = nest.loops[vectorLoop].extent;
  bool wide =
      !ShapedType::isDynamic(extent) && extent >= kUnroll * lanes && isCheap();
  int64_t unroll = wide ? kUnroll : 1;
  Values inits, sums;
  for (unsigned i = 0; i < results(); ++i)
    inits.push_back(
        memref::LoadOp::create(b, resultBase(i), position[inputs + i]));
  for (int64_t u = 0; u < unroll; ++u)
    llvm::append_range(sums, choice.folding->start(b, inits, lanes));

  sums = forReductions(0, sums, [&](ValueRange args) {
    Values carried = llvm::to_vector(args);
    Value from = index(0);
    if (wide) {
      int64_t block = kUnroll * lanes;
      from = index(extent / block * block);
      carried = forLoop(
          index(0), from, block, carried, [&](Value iv, ValueRange now) {
            Values next;
            for (int64_t u = 0; u < unroll; ++u) {
              Step step(*this, vectorLoop, plus(iv, u * lanes));
              auto mine = llvm::to_vector(now.slice(u * results(), results()));
              llvm::append_range(next, vectorBody(Value(), mine));
            }
            return next;
          });
    }
    Values first(carried.begin(), carried.begin() + results());
    first = forVectors(from, first, [&](Value iv, Value mask, ValueRange now) {
      Step step(*this, vectorLoop, iv);
      Values old = llvm::to_vector(now);
      Values next = vectorBody(mask, old);
      for (unsigned i = 0; mask && i < results(); ++i)
        next[i] = arith::SelectOp::create(b, mask, next[i], old[i]);
      return next;
    });
    llvm::copy(first, carried.begin());
    return carried;
  });

  auto block = [&](int64_t u) {
    return ArrayRef(sums).slice(u * results(), results());
  };
  Values sum = llvm::to_vector(block(0));
  for (int64_t u = 1; u < unroll; ++u)
    sum = choice.folding->merge(b, sum, block(u));
  sum = choice.folding->merge(b, inits, choice.folding->foldLanes(b, sum));
  for (unsigned i = 0; i < results(); ++i)
    memref::StoreOp::create(b, sum[i], resultBase(i), position[inputs + i]);
}

} // namespace ltc::compiler
