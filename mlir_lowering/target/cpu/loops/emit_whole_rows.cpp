//===- emit_whole_rows.cpp - Sums of many columns, in memory --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums that do not fit into registers stay in memory, which is in the first
// cache: rows are read whole, some at a time, as they lie.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace ltc::compiler {

/// The columns of a tile, at most; failure if nobody knows.
FailureOr<int64_t> NestEmitter::mostColumns() {
  return ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, extentOf(vectorLoop),
      /*stopCondition=*/nullptr, /*closedUB=*/true);
}

bool NestEmitter::readsWholeRows() {
  FailureOr<int64_t> columns = mostColumns();
  constexpr int64_t elementBytes = 8; // or fewer
  if (failed(columns) || reductions.size() != 1 || !isCheap() ||
      *columns * results() * elementBytes > facts.stack_bytes)
    return false;
  const Loop &loop = nest.loops[reductions.back()];
  int64_t rows = loop.size ? INT64_MAX : loop.extent;
  return rows >= schedule.whole_rows &&
         (*columns >= schedule.many_columns ||
          (*columns >= schedule.some_columns &&
           rows >= schedule.many_points / *columns));
}

/// Adds `count` rows from `first` on to the results in memory.
void NestEmitter::addRows(Value first, int64_t count) {
  forVectors(index(0), {}, [&](Value iv, Value mask, ValueRange) {
    Step column(*this, vectorLoop, iv);
    auto add = [&](ArrayRef<Value> before) {
      Values now = llvm::to_vector(before);
      for (int64_t k = 0; k < count; ++k) {
        Step row(*this, reductions.back(), plus(first, k));
        now = vectorBody(mask, now);
      }
      return now;
    };
    Values before = loadResults(mask);
    bool apart = count > 1 && rounds();
    storeResults(apart ? addApart(before, add) : add(before), mask);
    return Values();
  });
}

/// Memory on the stack for the columns of each result.
NestEmitter::Values NestEmitter::columnBuffers() {
  int64_t columns = *mostColumns();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(
      &op->getParentOfType<func::FuncOp>().getBody().front());
  Values buffers;
  for (unsigned i = 0; i < results(); ++i) {
    Type element = cast<MemRefType>(resultBase(i).getType()).getElementType();
    buffers.push_back(
        memref::AllocaOp::create(b, MemRefType::get({columns}, element)));
  }
  return buffers;
}

NestEmitter::Redirect::Redirect(NestEmitter &emitter, ArrayRef<Value> buffers)
    : emitter(emitter), saved(emitter.position) {
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    bases.push_back(emitter.resultBase(i));
    emitter.nest.accesses[emitter.inputs + i].base = buffer;
    emitter.position[emitter.inputs + i] = emitter.index(0);
  }
}

NestEmitter::Redirect::~Redirect() {
  for (auto [i, base] : llvm::enumerate(bases))
    emitter.nest.accesses[emitter.inputs + i].base = base;
  emitter.position = saved;
}

/// Runs `add` on sums in `buffers`, which then join the results.
void NestEmitter::addThrough(ArrayRef<Value> buffers,
                             llvm::function_ref<void()> add) {
  SmallVector<Type> vectors;
  for (Value buffer : buffers)
    vectors.push_back(VectorType::get(
        {lanes}, cast<MemRefType>(buffer.getType()).getElementType()));
  {
    Redirect there(*this, buffers);
    forVectors(index(0), {}, [&](Value iv, Value mask, ValueRange) {
      Step column(*this, vectorLoop, iv);
      storeResults(choice.folding->neutral(b, vectors), mask);
      return Values();
    });
    add();
  }
  forVectors(index(0), {}, [&](Value iv, Value mask, ValueRange) {
    Values parts;
    {
      Redirect there(*this, buffers);
      Step column(*this, vectorLoop, iv);
      parts = loadResults(mask);
    }
    Step column(*this, vectorLoop, iv);
    storeResults(choice.folding->merge(b, loadResults(mask), parts), mask);
    return Values();
  });
}

/// Adds the rows of a strip, in parts that each have their own memory.
void NestEmitter::addStrips(ArrayRef<Strip> strips, Value from, Value to) {
  Strip strip = strips.front();
  ArrayRef<Strip> inner = strips.drop_front();
  Values buffers;
  if (strip.apart)
    buffers = columnBuffers();
  forLoop(from, to, strip.step, {}, [&](Value iv, ValueRange) {
    auto turn = [&] {
      if (inner.empty())
        addRows(iv, schedule.whole_rows);
      else
        addStrips(inner, iv, endOfTurn(strip, iv, to));
    };
    if (strip.apart)
      addThrough(buffers, turn);
    else
      turn();
    return Values();
  });
}

void NestEmitter::emitWholeRows() {
  unsigned loop = reductions.back();
  const Loop &rows = nest.loops[loop];
  int64_t known = rows.size
                      ? ShapedType::kDynamic
                      : rows.extent / schedule.whole_rows * schedule.whole_rows;
  Value whole =
      rows.size ? wholeTurns(loop, schedule.whole_rows) : index(known);
  addStrips(pairwiseStrips({{loop, known, schedule.whole_rows}}, rounds()),
            index(0), whole);
  if (known != rows.extent || rows.size)
    forLoop(whole, extentOf(loop), 1, {}, [&](Value row, ValueRange) {
      addRows(row, 1);
      return Values();
    });
}

} // namespace ltc::compiler
