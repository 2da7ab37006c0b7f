//===- peeled_row.cpp - Rows that begin anywhere --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of odd or open length begins and ends between multiples of 16 bytes.
// Vectors are what lies between the first and the last of those, the rest are
// single elements; so is all of it where operands begin at different places.
// Folds of one such row keep it in registers.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;

namespace ltc::compiler {

bool BlockNest::isPeeled() {
  if (vectorLoop < 0 || lanes == 1 || nest.loops.size() != 1)
    return false;
  int64_t extent = nest.loops.front().extent;
  return ShapedType::isDynamic(extent) || extent % lanes != 0;
}

BlockNest::Peeled BlockNest::peel() {
  Value first, alike, extent = extentOf(vectorLoop);
  auto equal = [&](Value left, Value right) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, left, right);
  };
  for (auto [access, position] : llvm::zip_equal(nest.accesses, position)) {
    if (access.isUniformAlong(vectorLoop))
      continue;
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(b, access.base);
    int64_t bytes = elementBytes(getElementTypeOrSelf(access.base));
    Value number = arith::AddIOp::create(
        b, arith::DivUIOp::create(b, address, index(bytes)), position);
    Value past = arith::RemUIOp::create(b, number, index(lanes));
    if (!first)
      first = past;
    else
      alike =
          alike
              ? arith::AndIOp::create(b, alike, equal(past, first)).getResult()
              : equal(past, first).getResult();
  }
  Value head = arith::RemUIOp::create(
      b, arith::SubIOp::create(b, index(lanes), first), index(lanes));
  head = arith::MinUIOp::create(b, head, extent);
  Value between = arith::SubIOp::create(b, extent, head);
  Value vectors = arith::SubIOp::create(
      b, between, arith::RemUIOp::create(b, between, index(lanes)));
  if (alike)
    vectors = arith::SelectOp::create(b, alike, vectors, index(0));
  return {head, vectors, arith::SubIOp::create(b, extent, vectors)};
}

Value BlockNest::Peeled::placeOf(ImplicitLocOpBuilder &b, Value single) const {
  Value isHead =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, single, head);
  Value behind = arith::AddIOp::create(b, single, vectors);
  return arith::SelectOp::create(b, isHead, single, behind);
}

/// Of a part of a row, of which only the most is known.
SmallVector<Strip> BlockNest::stripsOfRow(int64_t step) {
  auto strips = pairwiseStrips(
      {{unsigned(vectorLoop), nest.loops[vectorLoop].extent, step}}, rounds());
  for (Strip &strip : strips)
    strip.even = false;
  return strips;
}

BlockNest::Values BlockNest::peeledVectors(const Peeled &row, Values sums,
                                           Leaf emit) {
  Value thread = arith::MulIOp::create(b, threadId(), index(lanes));
  Value from = arith::AddIOp::create(b, row.head, thread);
  Value to = arith::AddIOp::create(b, row.head, row.vectors);
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  Operation *before = &*std::prev(here.getPoint());
  auto leaf = [&](Value iv, ArrayRef<Value> sums) {
    Step step(*this, vectorLoop, iv);
    return emit(iv, sums);
  };
  auto along = stripsOfRow(threads * lanes);
  sums = forStrips(along, from, to, std::move(sums), leaf);
  auto align = [&](auto access) {
    for (const Access &operand : nest.accesses)
      if (operand.base == access.getBase() &&
          !operand.isUniformAlong(vectorLoop))
        access.setAlignment(lanes *
                            elementBytes(getElementTypeOrSelf(operand.base)));
  };
  for (Operation *made = before->getNextNode(); made && made != op;
       made = made->getNextNode())
    made->walk([&](Operation *inner) {
      if (auto load = dyn_cast<vector::LoadOp>(inner))
        align(load);
      else if (auto store = dyn_cast<vector::StoreOp>(inner))
        align(store);
    });
  return sums;
}

BlockNest::Values BlockNest::peeledScalars(const Peeled &row, Values sums,
                                           Leaf emit) {
  auto along = stripsOfRow(threads);
  return forStrips(along, threadId(), row.singles, std::move(sums),
                   [&](Value iv, ArrayRef<Value> sums) {
                     Step step(*this, vectorLoop, row.placeOf(b, iv));
                     return emit(iv, sums);
                   });
}

void BlockNest::emitPeeled() {
  Peeled row = peel();
  if (foldLoop < 0) {
    peeledVectors(row, {}, [&](Value, ArrayRef<Value>) {
      storeResults(vectorBody(Value(), {}), Value());
      return Values();
    });
    peeledScalars(row, {}, [&](Value, ArrayRef<Value>) {
      emitScalars();
      return Values();
    });
    return;
  }
  const Folding &folding = *choice.folding;
  Values inits;
  for (unsigned i = 0; i < results(); ++i)
    inits.push_back(loadUniform(inputs + i));
  Values sums = folding.start(b, inits, lanes);
  sums = peeledVectors(row, sums, [&](Value, ArrayRef<Value> sums) {
    return vectorBody(Value(), sums);
  });
  sums = folding.foldLanes(b, sums);
  sums = peeledScalars(
      row, sums, [&](Value, ArrayRef<Value> sums) { return scalarBody(sums); });
  storeUniform(folding.merge(b, inits, foldBlock(sums)));
}

BlockNest::Values BlockNest::inVectors(const Peeled &row, int64_t turn,
                                       Values otherwise,
                                       llvm::function_ref<Values()> emit) {
  Value first =
      arith::MulIOp::create(b, plus(threadId(), turn * threads), index(lanes));
  Step step(*this, vectorLoop, arith::AddIOp::create(b, row.head, first));
  if ((turn + 1) * threads * lanes <= own->extent - 2 * (lanes - 1))
    return emit();
  Value isInside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, row.vectors);
  return ifElse(
      isInside, otherwise, [&](ArrayRef<Value>) { return emit(); },
      [](ArrayRef<Value> otherwise) { return llvm::to_vector(otherwise); });
}

BlockNest::Values BlockNest::inSingles(const Peeled &row, Values otherwise,
                                       llvm::function_ref<Values()> emit) {
  Value thread = threadId();
  Step step(*this, vectorLoop, row.placeOf(b, thread));
  Value hasOne =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, row.singles);
  return ifElse(
      hasOne, otherwise, [&](ArrayRef<Value>) { return emit(); },
      [](ArrayRef<Value> otherwise) { return llvm::to_vector(otherwise); });
}

/// The vectors of each turn, then the single element.
BlockNest::Values BlockNest::loadPeeled(const Peeled &row, unsigned operand) {
  Value memref = op->getOperand(operand), base = nest.accesses[operand].base;
  if (auto *held = registers.find(memref, *own))
    return *held;
  Type element = getElementTypeOrSelf(base);
  Values values;
  for (int64_t turn = 0; turn < turns(); ++turn)
    values.append(inVectors(row, turn, {zero(memref)}, [&] {
      auto load = vector::LoadOp::create(b, VectorType::get({lanes}, element),
                                         base, position[operand]);
      load.setAlignment(lanes * elementBytes(element));
      return Values{load};
    }));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(element));
  values.append(inSingles(row, {none}, [&] {
    return Values{memref::LoadOp::create(b, base, position[operand])};
  }));
  if (cast<MemRefType>(memref.getType()).getNumElements() == own->extent)
    registers.hold(memref, *own, values);
  return values;
}

void BlockNest::foldPeeled() {
  const Folding &folding = *choice.folding;
  Peeled row = peel();
  Values inits, all(op->getNumOperands()), held;
  unsigned along = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!isUniform(i)) {
      along = i;
      held = loadPeeled(row, i);
    } else if (i >= inputs) {
      inits.push_back(loadUniform(i));
    } else if (!nest.accesses[i].isScalar &&
               !op.getBody()->getArgument(i).use_empty()) {
      all[i] = loadUniform(i);
    }
  }
  Values sums = folding.start(b, inits, lanes);
  for (int64_t turn = 0; turn < turns(); ++turn) {
    all[along] = held[turn];
    sums = inVectors(row, turn, sums,
                     [&] { return vectorBody(Value(), sums, all); });
  }
  all[along] = held.back();
  sums = folding.foldLanes(b, sums);
  sums = inSingles(row, sums, [&] { return scalarBody(sums, all); });
  storeUniform(folding.merge(b, inits, foldBlock(sums)));
}

} // namespace ltc::compiler
