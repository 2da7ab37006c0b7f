//===- emit_columns.cpp - Sums along columns, side by side ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/nest_emitter.h"

using namespace mlir;

namespace ltc::compiler {

constexpr int64_t kUnroll = 4;
constexpr int64_t kRowsAtATime = 8;
constexpr int64_t kManyColumns = 256; ///< more than registers hold

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
  each([&](unsigned) {
    for (unsigned i = 0; i < results(); ++i)
      carried.push_back(loadResult(i, mask));
  });
  carried = forReductions(0, carried, [&](ValueRange args) {
    Values next;
    each([&](unsigned u) {
      auto mine = llvm::to_vector(args.slice(u * results(), results()));
      llvm::append_range(next, vectorBody(mask, mine));
    });
    return next;
  });
  each([&](unsigned u) {
    for (unsigned i = 0; i < results(); ++i)
      storeVector(b, carried[u * results() + i], resultBase(i),
                  position[inputs + i], mask);
  });
}

/// Columns that do not fit into registers stay in memory, which is in the
/// first cache: rows are read whole, some at a time, as they lie.
bool NestEmitter::readsWholeRows() {
  int64_t extent = nest.loops[vectorLoop].extent;
  const Loop &rows = nest.loops[reductions.back()];
  bool wide = ShapedType::isDynamic(extent) || extent >= kManyColumns;
  return wide && rows.extent >= kRowsAtATime && isCheap();
}

void NestEmitter::emitWholeRows() {
  unsigned loop = reductions.back();
  int64_t height = nest.loops[loop].extent;
  auto rows = [&](Value first, int64_t count) {
    forVectors(index(0), {}, [&](Value iv, Value mask, ValueRange) {
      Step column(*this, vectorLoop, iv);
      Values sums;
      for (unsigned i = 0; i < results(); ++i)
        sums.push_back(loadResult(i, mask));
      for (int64_t k = 0; k < count; ++k) {
        Step row(*this, loop, plus(first, k));
        sums = vectorBody(mask, sums);
      }
      storeResults(sums, mask);
      return Values();
    });
    return Values();
  };
  reductions.pop_back();
  forReductions(0, {}, [&](ValueRange) {
    int64_t whole = height / kRowsAtATime * kRowsAtATime;
    forLoop(index(0), index(whole), kRowsAtATime, {},
            [&](Value row, ValueRange) { return rows(row, kRowsAtATime); });
    if (whole < height)
      forLoop(index(whole), index(height), 1, {},
              [&](Value row, ValueRange) { return rows(row, 1); });
    return Values();
  });
  reductions.push_back(loop);
}

void NestEmitter::emitColumns() {
  if (readsWholeRows())
    return emitWholeRows();
  int64_t extent = nest.loops[vectorLoop].extent;
  Value from = index(0);
  int64_t block = kUnroll * lanes;
  if (!ShapedType::isDynamic(extent) && extent >= block && isCheap()) {
    from = index(extent / block * block);
    forLoop(index(0), from, block, {}, [&](Value iv, ValueRange) {
      emitColumnBlock(iv, Value(), kUnroll);
      return Values();
    });
  }
  forVectors(from, {}, [&](Value iv, Value mask, ValueRange) {
    emitColumnBlock(iv, mask, 1);
    return Values();
  });
}

} // namespace ltc::compiler
