//===- nest_emitter.cpp - Loops over the operands of an op ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir_lowering/optimize/cost.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

NestEmitter::NestEmitter(GenericOp op, const Schedule &schedule,
                         const TargetFacts &facts)
    : NestWriter(op,
                 [&](GenericOp op, const Nest &nest) {
                   return chooseLoops(op, nest, facts.vector_bits);
                 }),
      schedule(schedule), facts(facts) {}

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

bool NestEmitter::unrollsAlong() {
  int64_t extent = nest.loops[vectorLoop].extent;
  return isCheap() &&
         (ShapedType::isDynamic(extent) || extent >= schedule.unroll * lanes);
}

bool NestEmitter::isCheap() { return pointCost(op) <= facts.unroll_cost; }

} // namespace ltc::compiler
