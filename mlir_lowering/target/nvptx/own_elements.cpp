//===- own_elements.cpp - Elements that stay one thread's -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop along a row is unrolled: a thread has the vectors that lie a block's
// width apart. All loads stand in front, so that they wait together.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;

namespace ltc::compiler {

using Sharing = Registers::Sharing;

bool BlockNest::isUniform(unsigned operand) {
  const Access &access = nest.accesses[operand];
  return llvm::all_of(
      llvm::seq<unsigned>(nest.loops.size()),
      [&](unsigned loop) { return access.isUniformAlong(loop); });
}

bool BlockNest::fits(int64_t elements) {
  constexpr int64_t most = 32;       // of each row, whatever is made of them
  constexpr int64_t mostBytes = 256; // of rows that are folded
  if (elements <= most)
    return true;
  int64_t bytes = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!isUniform(i))
      bytes += elements * elementBytes(getElementTypeOrSelf(op->getOperand(i)));
  return foldLoop >= 0 && bytes <= mostBytes;
}

int64_t BlockNest::turns() {
  return own->isUniform() ? 1
                          : llvm::divideCeil(own->extent, threads * own->lanes);
}

std::optional<Sharing> BlockNest::ownSharing() {
  if (llvm::any_of(nest.accesses,
                   [](const Access &access) { return bool(access.general); }))
    return std::nullopt;
  if (nest.loops.empty())
    return Sharing();
  if (nest.loops.size() > 1 || vectorLoop < 0)
    return std::nullopt;
  int64_t extent = nest.loops[vectorLoop].extent;
  if (ShapedType::isDynamic(extent) ||
      !fits(llvm::divideCeil(extent, threads * lanes) * lanes))
    return std::nullopt;
  if (!isPeeled())
    return Sharing{extent, lanes};
  if (2 * (lanes - 1) > threads)
    return std::nullopt; // a single element each
  // Vectors of one operand begin where those of another may not.
  auto along = llvm::count_if(llvm::seq<unsigned>(op->getNumOperands()),
                              [&](unsigned i) { return !isUniform(i); });
  return foldLoop >= 0 && along == 1
             ? std::optional(Sharing{extent, lanes, true})
             : std::nullopt;
}

SmallVector<Registers::Use> BlockNest::uses() {
  SmallVector<Registers::Use> uses;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (nest.accesses[number].isScalar)
      continue;
    bool isResult = number >= inputs, uniform = own && isUniform(number);
    std::optional<Sharing> sharing;
    if (own)
      sharing = uniform ? Sharing() : *own;
    bool isHeld = sharing && registers.find(operand.get(), *sharing);
    bool isRead = !isResult || !op.getBody()->getArgument(number).use_empty();
    if (isRead && !isHeld) // one thread stores what all load
      uses.push_back({operand.get(), false, uniform ? std::nullopt : sharing});
    if (isResult)
      uses.push_back({operand.get(), true, sharing});
  }
  op.getBody()->walk(
      [&](memref::LoadOp load) { uses.push_back({load.getMemRef(), false}); });
  return uses;
}

BlockNest::Values BlockNest::inTurn(int64_t turn, Values otherwise,
                                    llvm::function_ref<Values()> emit) {
  Value first = plus(threadId(), turn * threads);
  Step step(*this, vectorLoop,
            b.createOrFold<arith::MulIOp>(first, index(lanes)));
  if ((turn + 1) * threads * lanes <= own->extent)
    return emit();
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first,
                                         index(own->extent / lanes));
  return ifElse(
      isInside, otherwise, [&](ArrayRef<Value>) { return emit(); },
      [](ArrayRef<Value> otherwise) { return llvm::to_vector(otherwise); });
}

Value BlockNest::loadUniform(unsigned operand) {
  Value memref = op->getOperand(operand);
  if (auto *values = registers.find(memref, Sharing()))
    return values->front();
  Value value =
      memref::LoadOp::create(b, nest.accesses[operand].base, position[operand]);
  registers.hold(memref, Sharing(), {value});
  return value;
}

SmallVector<BlockNest::Values> BlockNest::loadOwn() {
  SmallVector<Values> loaded(turns(), Values(op->getNumOperands()));
  SmallVector<unsigned> wanted;
  for (BlockArgument argument : op.getBody()->getArguments()) {
    unsigned number = argument.getArgNumber();
    if (argument.use_empty() || nest.accesses[number].isScalar ||
        (number >= inputs && foldLoop >= 0))
      continue;
    if (isUniform(number)) {
      Value value = loadUniform(number);
      for (Values &turn : loaded)
        turn[number] = value;
    } else if (auto *held = registers.find(op->getOperand(number), *own)) {
      for (auto [turn, value] : llvm::zip_equal(loaded, *held))
        turn[number] = value;
    } else {
      wanted.push_back(number);
    }
  }
  if (wanted.empty())
    return loaded;
  for (auto [turn, values] : llvm::enumerate(loaded)) {
    Values zeros;
    for (unsigned number : wanted)
      zeros.push_back(zero(op->getOperand(number)));
    Values all = inTurn(int64_t(turn), zeros, [&] {
      Values all;
      for (unsigned number : wanted)
        all.push_back(loadVector(b, nest.accesses[number].base,
                                 position[number], 1, lanes, Value()));
      return all;
    });
    for (auto [number, value] : llvm::zip_equal(wanted, all))
      values[number] = value;
  }
  for (unsigned number : wanted)
    holdTurns(
        number, [&](size_t turn) { return loaded[turn][number]; },
        loaded.size());
  return loaded;
}

/// A vector of zeros of a memref's elements.
Value BlockNest::zero(Value memref) {
  auto type = VectorType::get(
      {lanes}, cast<MemRefType>(memref.getType()).getElementType());
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

void BlockNest::holdTurns(unsigned operand,
                          llvm::function_ref<Value(size_t)> valueOf,
                          size_t turns) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  if (!type.hasStaticShape() || type.getNumElements() != own->extent)
    return; // a part, and perhaps another part for another op
  Values values;
  for (size_t turn = 0; turn < turns; ++turn)
    values.push_back(valueOf(turn));
  registers.hold(memref, *own, std::move(values));
}

void BlockNest::storeUniform(ArrayRef<Value> values) {
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadId(), index(0));
  auto store = [&](ArrayRef<Value>) {
    for (auto [i, value] : llvm::enumerate(values))
      memref::StoreOp::create(b, value, resultBase(i), position[inputs + i]);
    return Values();
  };
  ifElse(isFirst, {}, store, [](ArrayRef<Value>) { return Values(); });
  for (auto [result, value] : llvm::zip_equal(op.getDpsInits(), values)) {
    registers.forget(result);
    registers.hold(result, Sharing(), {value});
  }
}

void BlockNest::computeOwn(ArrayRef<Values> loaded) {
  SmallVector<Values> computed;
  for (auto [turn, operands] : llvm::enumerate(loaded)) {
    Values zeros;
    for (Value result : op.getDpsInits())
      zeros.push_back(zero(result));
    computed.push_back(inTurn(int64_t(turn), zeros, [&] {
      Values values = vectorBody(Value(), {}, operands);
      storeResults(values, Value());
      return values;
    }));
  }
  for (Value result : op.getDpsInits())
    registers.forget(result);
  for (unsigned i = 0; i < results(); ++i)
    holdTurns(
        inputs + i, [&](size_t turn) { return computed[turn][i]; },
        loaded.size());
}

void BlockNest::foldOwn(ArrayRef<Values> loaded) {
  const Folding &folding = *choice.folding;
  Values inits;
  for (unsigned i = 0; i < results(); ++i)
    inits.push_back(loadUniform(inputs + i));
  Values sums = folding.start(b, inits, lanes);
  for (auto [turn, operands] : llvm::enumerate(loaded))
    sums = inTurn(int64_t(turn), sums, [&, &operands = operands] {
      return vectorBody(Value(), sums, operands);
    });
  sums = foldBlock(folding.foldLanes(b, sums));
  storeUniform(folding.merge(b, inits, sums));
}

void BlockNest::emitOwn() {
  if (own->isPeeled)
    return foldPeeled();
  SmallVector<Values> loaded = loadOwn();
  if (own->isUniform())
    storeUniform(scalarBody({}, loaded.front()));
  else if (foldLoop >= 0)
    foldOwn(loaded);
  else
    computeOwn(loaded);
}

} // namespace ltc::compiler
