//===- emit_scalars.cpp - Loops over single elements ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/nest_writer.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

void NestWriter::emitScalars() {
  Values carried;
  Values start = positions();
  if (!reductions.empty())
    for (unsigned i = 0; i < results(); ++i)
      carried.push_back(
          memref::LoadOp::create(b, resultBase(i), start[inputs + i]));
  Values values =
      forStrips(strips(rounds()), carried,
                [&](Value, ArrayRef<Value> sums) { return scalarBody(sums); });
  for (unsigned i = 0; i < results(); ++i)
    memref::StoreOp::create(b, values[i], resultBase(i), start[inputs + i]);
}

NestWriter::Values NestWriter::scalarBody(ValueRange accumulators,
                                          ArrayRef<Value> loaded) {
  IRMapping map;
  Values from = positions();
  for (BlockArgument argument : op.getBody()->getArguments()) {
    unsigned i = argument.getArgNumber();
    if (argument.use_empty())
      continue;
    const Access &access = nest.accesses[i];
    map.map(argument,
            access.isScalar                ? access.base
            : !loaded.empty() && loaded[i] ? loaded[i]
            : i >= inputs && !accumulators.empty()
                ? accumulators[i - inputs]
                : memref::LoadOp::create(b, access.base, from[i]).getResult());
  }
  Values indexed = indices();
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), indexed[index.getDim()]);
    else
      b.clone(inner, map);
  }
  Values yielded;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    yielded.push_back(map.lookupOrDefault(value));
  return yielded;
}

} // namespace ltc::compiler
