//===- nest_writer.cpp - What loops over a linalg op are made of ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/nest_writer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

NestWriter::NestWriter(GenericOp op, Choose choose)
    : op(op), b(op.getLoc(), op), nest(analyzeNest(b, op)),
      inputs(op.getNumDpsInputs()), choice(choose(op, nest)),
      vectorLoop(choice.vectorLoop), crossLoop(choice.crossLoop),
      lanes(choice.lanes) {
  at.resize(nest.loops.size());
  for (const Access &access : nest.accesses)
    position.push_back(access.offset);
  if (vectorLoop >= 0)
    body.emplace(op, nest, vectorLoop);
  for (int loop = 0; loop < int(nest.loops.size()); ++loop) {
    if (loop == vectorLoop || loop == crossLoop)
      continue;
    (nest.loops[loop].reduction ? reductions : outer).push_back(loop);
  }
}

NestWriter::Step::Step(NestWriter &writer, unsigned loop, Value iv)
    : writer(writer), loop(loop), saved(writer.position) {
  NestWriter &w = writer;
  w.at[loop] = iv;
  for (auto [access, position] : llvm::zip_equal(w.nest.accesses, w.position)) {
    if (access.isUniformAlong(loop) || access.general)
      continue;
    Value by = iv;
    if (access.dynamic[loop])
      by = arith::MulIOp::create(w.b, iv, access.dynamic[loop]);
    else if (access.strides[loop] != 1)
      by = arith::MulIOp::create(w.b, iv, w.index(access.strides[loop]));
    position = w.b.createOrFold<arith::AddIOp>(position, by);
  }
}

NestWriter::Step::~Step() {
  writer.position = saved;
  writer.at[loop] = Value();
}

Value NestWriter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value NestWriter::plus(Value index, int64_t by) {
  return b.createOrFold<arith::AddIOp>(index, this->index(by));
}

Value NestWriter::extentOf(unsigned loop) {
  const Loop &l = nest.loops[loop];
  return l.size ? l.size : index(l.extent);
}

Value NestWriter::wholeTurns(unsigned loop, int64_t step) {
  Value extent = extentOf(loop);
  Value rest = b.createOrFold<arith::RemUIOp>(extent, index(step));
  return b.createOrFold<arith::SubIOp>(extent, rest);
}

NestWriter::Values
NestWriter::forLoop(Value from, Value to, int64_t step, ValueRange init,
                    llvm::function_ref<Values(Value, ValueRange)> emit) {
  auto loop = scf::ForOp::create(b, from, to, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = emit(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return loop.getResults();
}

NestWriter::Values
NestWriter::ifElse(Value condition, ArrayRef<Value> carried,
                   llvm::function_ref<Values(ArrayRef<Value>)> emitThen,
                   llvm::function_ref<Values(ArrayRef<Value>)> emitElse) {
  auto branch = scf::IfOp::create(b, ValueRange(carried).getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, emit] : {std::pair(branch.thenBlock(), emitThen),
                             std::pair(branch.elseBlock(), emitElse)}) {
    b.setInsertionPointToStart(block);
    Values next = emit(carried);
    if (!carried.empty())
      scf::YieldOp::create(b, next);
  }
  return branch.getResults();
}

NestWriter::Values NestWriter::indices() {
  Values values;
  for (int loop : nest.loopOf)
    values.push_back(loop >= 0 ? at[loop] : index(0));
  return values;
}

NestWriter::Values NestWriter::positions() {
  Values values = position;
  for (auto [access, value] : llvm::zip_equal(nest.accesses, values)) {
    if (!access.general)
      continue;
    SmallVector<OpFoldResult> dims;
    for (Value iv : indices())
      dims.push_back(iv ? iv : index(0));
    for (unsigned i = 0; i < access.general.getNumResults(); ++i) {
      Value along = getValueOrCreateConstantIndexOp(
          b, b.getLoc(),
          affine::makeComposedFoldedAffineApply(
              b, b.getLoc(), access.general.getSubMap({i}), dims));
      Value scaled = arith::MulIOp::create(b, along, access.generalStrides[i]);
      value = arith::AddIOp::create(b, value, scaled);
    }
  }
  return values;
}

NestWriter::Values NestWriter::vectorBody(Value mask,
                                          ArrayRef<Value> accumulators,
                                          ArrayRef<Value> loaded) {
  Values positioned = positions(), indexed = indices();
  return body->emit(b,
                    {positioned, indexed, lanes, mask, accumulators, loaded});
}

NestWriter::Values NestWriter::loadResults(Value mask) {
  Values values;
  for (unsigned i = 0; i < results(); ++i)
    values.push_back(
        loadVector(b, resultBase(i), position[inputs + i], 1, lanes, mask));
  return values;
}

void NestWriter::storeResults(ArrayRef<Value> values, Value mask) {
  Values to = positions();
  for (unsigned i = 0; i < results(); ++i)
    if (values[i])
      storeVector(b, values[i], resultBase(i), to[inputs + i],
                  nest.accesses[inputs + i].strides[vectorLoop], mask);
}

} // namespace ltc::compiler
