//===- emit_nest.cpp - A linalg op on memrefs as loops --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

using namespace mlir;

namespace ltc::compiler {

void NestEmitter::emitOuter(unsigned level) {
  if (level < outer.size()) {
    unsigned loop = outer[level];
    forLoop(index(0), extentOf(loop), 1, {}, [&](Value iv, ValueRange) {
      Step step(*this, loop, iv);
      emitOuter(level + 1);
      return Values();
    });
    return;
  }
  if (vectorLoop < 0)
    return emitScalars();
  if (nest.loops[vectorLoop].reduction)
    return emitRow();
  if (crossLoop >= 0)
    return emitSquares();
  if (reductions.empty())
    return emitPointwise(index(0));
  emitColumns();
}

void NestEmitter::run() {
  emitOuter(0);
  op.erase();
}

} // namespace ltc::compiler
