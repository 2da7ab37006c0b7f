//===- scatter_loops.cpp - Rows put where positions say -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/scatter_loops.h"

#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ltc::compiler {

/// Elements of the source that a block adds.
static constexpr int64_t kAdded = 1024;

CallOp scatterIn(func::FuncOp kernel) {
  for (auto call : kernel.getOps<CallOp>())
    if (scatterRows(call))
      return call;
  return {};
}

static int64_t countOf(mlir::Value memref) {
  return cast<MemRefType>(memref.getType()).getNumElements();
}

ScatterLoops::ScatterLoops(CallOp scatter, int64_t mostThreads)
    : b(scatter.getLoc(), scatter), scatter(scatter),
      positions(scatter.getInputs()[0]), source(scatter.getInputs()[1]),
      to(scatter.getOuts()[0]), rows(countOf(positions)),
      length(countOf(source) / rows), elements(countOf(to)) {
  int64_t most =
      isOrdered() ? std::min(elements, rows * length) : rows * length;
  threads = std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(most))), kWarp,
                       std::max(mostThreads, kWarp));
}

static mlir::Attribute argumentOf(CallOp call, StringRef name) {
  for (auto [one, value] : llvm::zip_equal(call.getNames(), call.getValues()))
    if (cast<StringAttr>(one).getValue() == name)
      return value;
  return {};
}

bool ScatterLoops::isOrdered() {
  return cast<BoolAttr>(argumentOf(scatter, "ordered")).getValue();
}

Value ScatterLoops::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value ScatterLoops::threadId() {
  return gpu::ThreadIdOp::create(b, gpu::Dimension::x);
}

Value ScatterLoops::positionOf(Value row) {
  Value position = memref::LoadOp::create(b, positions, row);
  return arith::IndexCastOp::create(b, b.getIndexType(), position);
}

void ScatterLoops::forBlocks(int64_t blocks,
                             llvm::function_ref<void(Value)> emit) {
  auto loop =
      scf::ForallOp::create(b, ArrayRef<OpFoldResult>{b.getIndexAttr(blocks)},
                            ValueRange(), std::nullopt);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar(0));
}

void ScatterLoops::forLoop(Value from, Value to, int64_t step,
                           llvm::function_ref<void(Value)> emit) {
  auto loop = scf::ForOp::create(b, from, to, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

void ScatterLoops::addAtOnce(Value block) {
  Value first = arith::MulIOp::create(b, block, index(kAdded));
  Value end = arith::MinSIOp::create(
      b, arith::AddIOp::create(b, first, index(kAdded)), index(rows * length));
  first = arith::AddIOp::create(b, first, threadId());
  forLoop(first, end, threads, [&](Value at) {
    Value row = at, column = index(0);
    if (length > 1) {
      row = arith::DivUIOp::create(b, at, index(length));
      column = arith::RemUIOp::create(b, at, index(length));
    }
    Value position = positionOf(row);
    Value isSomewhere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, index(0));
    auto branch = scf::IfOp::create(b, isSomewhere, /*withElseRegion=*/false);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value added = memref::LoadOp::create(b, source, at);
    auto kind = isa<FloatType>(added.getType()) ? arith::AtomicRMWKind::addf
                                                : arith::AtomicRMWKind::addi;
    memref::AtomicRMWOp::create(
        b, added.getType(), kind, added, to,
        ValueRange(arith::AddIOp::create(b, position, column).getResult()));
  });
}

/// The elements of a part are dealt out to the threads in turn, so that one
/// element is always one thread's, whichever row it is written by.
void ScatterLoops::writeInOrder(Value block) {
  int64_t tile = orderedTile(elements);
  Value begin = arith::MulIOp::create(b, block, index(tile));
  Value end = arith::MinSIOp::create(
      b, arith::AddIOp::create(b, begin, index(tile)), index(elements));
  Value thread = threadId();
  forLoop(index(0), index(rows), 1, [&](Value row) {
    Value position = positionOf(row), zero = index(0);
    Value from = arith::MaxSIOp::create(b, position, begin);
    Value until = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, position, index(length)), end);
    Value isNowhere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, zero);
    until = arith::SelectOp::create(b, isNowhere, zero, until);
    Value ahead =
        arith::SubIOp::create(b, thread, arith::SubIOp::create(b, from, begin));
    ahead = arith::AndIOp::create(b, ahead, index(threads - 1));
    from = arith::AddIOp::create(b, from, ahead);
    Value start = arith::SubIOp::create(
        b, arith::MulIOp::create(b, row, index(length)), position);
    forLoop(from, until, threads, [&](Value at) {
      Value added = memref::LoadOp::create(
          b, source,
          ValueRange(arith::AddIOp::create(b, start, at).getResult()));
      Value before = memref::LoadOp::create(b, to, at);
      memref::StoreOp::create(b, combine(before, added), to, at);
    });
  });
}

/// As eager does: NaN wins.
Value ScatterLoops::combine(Value before, Value added) {
  using Kind = arith::AtomicRMWKind;
  StringRef how = cast<StringAttr>(argumentOf(scatter, "combine")).getValue();
  if (how == "set")
    return added;
  Type type = added.getType();
  bool isReal = isa<FloatType>(type);
  bool isShort = isReal && type.getIntOrFloatBitWidth() < 32;
  if (isShort) {
    before = arith::ExtFOp::create(b, b.getF32Type(), before);
    added = arith::ExtFOp::create(b, b.getF32Type(), added);
  }
  Kind kind = llvm::StringSwitch<Kind>(how)
                  .Case("add", isReal ? Kind::addf : Kind::addi)
                  .Case("mul", isReal ? Kind::mulf : Kind::muli)
                  .Case("max", isReal ? Kind::maximumf : Kind::maxs)
                  .Case("min", isReal ? Kind::minimumf : Kind::mins)
                  .Case("umax", Kind::maxu)
                  .Case("umin", Kind::minu)
                  .Case("or", Kind::ori)
                  .Case("and", Kind::andi);
  Value result = arith::getReductionOp(kind, b, b.getLoc(), before, added);
  return isShort ? Value(arith::TruncFOp::create(b, type, result)) : result;
}

void ScatterLoops::emit(func::FuncOp kernel) {
  kernel->setAttr(attr::kThreads, b.getI64IntegerAttr(threads));
  if (isOrdered())
    forBlocks(llvm::divideCeil(elements, orderedTile(elements)),
              [&](Value block) { writeInOrder(block); });
  else
    forBlocks(llvm::divideCeil(rows * length, kAdded),
              [&](Value block) { addAtOnce(block); });
  scatter.erase();
}

} // namespace ltc::compiler
