//===- nest_emitter.cpp - Loops over the operands of an op ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir_lowering/optimize/cost.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

NestEmitter::NestEmitter(GenericOp op, const Schedule &schedule,
                         const TargetFacts &facts)
    : op(op), schedule(schedule), facts(facts), b(op.getLoc(), op),
      nest(analyzeNest(b, op)), inputs(op.getNumDpsInputs()),
      choice(chooseLoops(op, nest, facts.vector_bits)),
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

NestEmitter::Step::Step(NestEmitter &emitter, unsigned loop, Value iv)
    : emitter(emitter), loop(loop), saved(emitter.position) {
  NestEmitter &e = emitter;
  e.at[loop] = iv;
  for (auto [access, position] : llvm::zip_equal(e.nest.accesses, e.position)) {
    if (access.isUniformAlong(loop) || access.general)
      continue;
    Value by = iv;
    if (access.dynamic[loop])
      by = arith::MulIOp::create(e.b, iv, access.dynamic[loop]);
    else if (access.strides[loop] != 1)
      by = arith::MulIOp::create(e.b, iv, e.index(access.strides[loop]));
    position = e.b.createOrFold<arith::AddIOp>(position, by);
  }
}

NestEmitter::Step::~Step() {
  emitter.position = saved;
  emitter.at[loop] = Value();
}

Value NestEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value NestEmitter::plus(Value index, int64_t by) {
  return b.createOrFold<arith::AddIOp>(index, this->index(by));
}

Value NestEmitter::extentOf(unsigned loop) {
  const Loop &l = nest.loops[loop];
  return l.size ? l.size : index(l.extent);
}

Value NestEmitter::wholeTurns(unsigned loop, int64_t step) {
  Value extent = extentOf(loop);
  Value rest = b.createOrFold<arith::RemUIOp>(extent, index(step));
  return b.createOrFold<arith::SubIOp>(extent, rest);
}

NestEmitter::Values
NestEmitter::forLoop(Value from, Value to, int64_t step, ValueRange init,
                     llvm::function_ref<Values(Value, ValueRange)> emit) {
  auto loop = scf::ForOp::create(b, from, to, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = emit(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return loop.getResults();
}

NestEmitter::Values NestEmitter::forVectors(
    Value from, Values carried,
    llvm::function_ref<Values(Value, Value, ValueRange)> emit) {
  Value extent = extentOf(vectorLoop);
  Value rest = b.createOrFold<arith::RemUIOp>(extent, index(lanes));
  Value whole = b.createOrFold<arith::SubIOp>(extent, rest);
  if (getConstantIntValue(whole) != getConstantIntValue(from) ||
      !getConstantIntValue(whole))
    carried =
        forLoop(from, whole, lanes, carried, [&](Value iv, ValueRange args) {
          return emit(iv, Value(), args);
        });
  if (getConstantIntValue(rest) == 0)
    return carried;
  auto masked = [&](ArrayRef<Value> before) {
    auto type = VectorType::get({lanes}, b.getI1Type());
    Value mask = vector::CreateMaskOp::create(b, type, rest);
    return emit(whole, mask, before);
  };
  if (getConstantIntValue(rest))
    return masked(carried);
  // Memory is slow under a mask also where the mask is empty.
  Value isCut =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, index(0));
  return ifElse(isCut, carried, masked,
                [](ArrayRef<Value> before) { return llvm::to_vector(before); });
}

NestEmitter::Values
NestEmitter::ifElse(Value condition, ArrayRef<Value> carried,
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

bool NestEmitter::unrollsAlong() {
  int64_t extent = nest.loops[vectorLoop].extent;
  return isCheap() &&
         (ShapedType::isDynamic(extent) || extent >= schedule.unroll * lanes);
}

NestEmitter::Values NestEmitter::indices() {
  Values values;
  for (int loop : nest.loopOf)
    values.push_back(loop >= 0 ? at[loop] : index(0));
  return values;
}

NestEmitter::Values NestEmitter::positions() {
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

NestEmitter::Values NestEmitter::vectorBody(Value mask,
                                            ArrayRef<Value> accumulators,
                                            ArrayRef<Value> loaded) {
  Values positioned = positions(), indexed = indices();
  return body->emit(b,
                    {positioned, indexed, lanes, mask, accumulators, loaded});
}

NestEmitter::Values NestEmitter::loadResults(Value mask) {
  Values values;
  for (unsigned i = 0; i < results(); ++i)
    values.push_back(
        loadVector(b, resultBase(i), position[inputs + i], 1, lanes, mask));
  return values;
}

void NestEmitter::storeResults(ArrayRef<Value> values, Value mask) {
  Values to = positions();
  for (unsigned i = 0; i < results(); ++i)
    if (values[i])
      storeVector(b, values[i], resultBase(i), to[inputs + i],
                  nest.accesses[inputs + i].strides[vectorLoop], mask);
}

bool NestEmitter::isCheap() { return pointCost(op) <= facts.unroll_cost; }

} // namespace ltc::compiler
