//===- emit_pointwise.cpp - Loops that fold nothing -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

using namespace mlir;

namespace ltc::compiler {

void NestEmitter::emitPointwise(Value from) {
  forVectors(from, {}, [&](Value iv, Value mask, ValueRange) {
    Step step(*this, vectorLoop, iv);
    storeResults(vectorBody(mask, {}), mask);
    return Values();
  });
}

void NestEmitter::emitSquares() {
  Value whole = wholeTurns(vectorLoop, lanes),
        rows = wholeTurns(crossLoop, lanes);
  forLoop(index(0), rows, lanes, {}, [&](Value row, ValueRange) {
    forLoop(index(0), whole, lanes, {}, [&](Value iv, ValueRange) {
      emitSquare(row, iv);
      return Values();
    });
    return Values();
  });
  Value length = extentOf(vectorLoop), height = extentOf(crossLoop);
  auto rest = [&](Value first, Value last, Value from) {
    if (isEqualConstantIntOrValue(first, last) ||
        isEqualConstantIntOrValue(from, length))
      return;
    forLoop(first, last, 1, {}, [&](Value row, ValueRange) {
      Step step(*this, crossLoop, row);
      emitPointwise(from);
      return Values();
    });
  };
  rest(index(0), rows, whole);
  rest(rows, height, index(0));
}

void NestEmitter::emitSquare(Value row, Value column) {
  ArrayRef<unsigned> crossing = choice.crossing;
  auto read = crossing.take_while([&](unsigned n) { return n < inputs; });
  auto written = crossing.drop_front(read.size());
  SmallVector<Values> squares, results(written.size());
  for (unsigned number : read) {
    Values columns;
    Step atRow(*this, crossLoop, row);
    for (int64_t j = 0; j < lanes; ++j) {
      Step atColumn(*this, vectorLoop, plus(column, j));
      columns.push_back(loadVector(b, nest.accesses[number].base,
                                   position[number], 1, lanes, Value()));
    }
    squares.push_back(transposeSquare(b, columns));
  }
  for (int64_t i = 0; i < lanes; ++i) {
    Step atColumn(*this, vectorLoop, column);
    Step atRow(*this, crossLoop, plus(row, i));
    Values loaded(nest.accesses.size());
    for (auto [number, square] : llvm::zip_equal(read, squares))
      loaded[number] = square[i];
    Values values = vectorBody(Value(), {}, loaded);
    for (auto [number, rows] : llvm::zip_equal(written, results))
      rows.push_back(std::exchange(values[number - inputs], Value()));
    storeResults(values, Value());
  }
  for (auto [number, rows] : llvm::zip_equal(written, results)) {
    Step atRow(*this, crossLoop, row);
    for (auto [j, line] : llvm::enumerate(transposeSquare(b, rows))) {
      Step atColumn(*this, vectorLoop, plus(column, j));
      storeVector(b, line, nest.accesses[number].base, position[number], 1,
                  Value());
    }
  }
}

} // namespace ltc::compiler
