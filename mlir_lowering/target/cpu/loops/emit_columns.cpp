//===- emit_columns.cpp - Sums along columns, side by side ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

using namespace mlir;

namespace ltc::compiler {

/// `unroll` vectors of columns side by side, from column `iv` on.
void NestEmitter::emitColumnBlock(Value iv, Value mask, int64_t unroll) {
  Values carried;
  auto each = [&](llvm::function_ref<void(unsigned)> visit) {
    for (int64_t u = 0; u < unroll; ++u) {
      Value column = plus(iv, u * lanes);
      Step step(*this, vectorLoop, column);
      visit(u);
    }
  };
  each([&](unsigned) { llvm::append_range(carried, loadResults(mask)); });
  carried =
      forStrips(strips(rounds()), carried, [&](Value, ArrayRef<Value> sums) {
        Values next;
        each([&](size_t u) {
          llvm::append_range(
              next, vectorBody(mask, sums.slice(u * results(), results())));
        });
        return next;
      });
  each([&](size_t u) {
    storeResults(ArrayRef(carried).slice(u * results(), results()), mask);
  });
}

void NestEmitter::emitColumns() {
  if (readsWholeRows())
    return emitWholeRows();
  Value from = index(0);
  if (unrollsAlong()) {
    from = wholeTurns(vectorLoop, schedule.unroll * lanes);
    forLoop(index(0), from, schedule.unroll * lanes, {},
            [&](Value iv, ValueRange) {
              emitColumnBlock(iv, Value(), schedule.unroll);
              return Values();
            });
  }
  forVectors(from, {}, [&](Value iv, Value mask, ValueRange) {
    emitColumnBlock(iv, mask, 1);
    return Values();
  });
}

} // namespace ltc::compiler
