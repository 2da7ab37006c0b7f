//===- scatter_loops.cpp - Rows put where positions say -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/scatter_loops.h"

#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ltc::compiler {

/// Elements of the source that a block combines.
static constexpr int64_t kCombined = 1024;

CallOp scatterIn(func::FuncOp kernel) {
  for (auto call : kernel.getOps<CallOp>())
    if (scatterRows(call))
      return call;
  return {};
}

static mlir::Attribute argumentOf(CallOp call, StringRef name) {
  for (auto [one, value] : llvm::zip_equal(call.getNames(), call.getValues()))
    if (cast<StringAttr>(one).getValue() == name)
      return value;
  return {};
}

ScatterLoops::ScatterLoops(CallOp scatter, int64_t mostThreads)
    : b(scatter.getLoc(), scatter), scatter(scatter),
      positions(scatter.getInputs()[0]), source(scatter.getInputs()[1]),
      to(scatter.getOuts()[0]), rows(sizeOf(positions, 0)),
      length(sizeOf(OpFoldResult(argumentOf(scatter, "length")))),
      elements(sizeOf(to, 0)) {
  int64_t most = usual(product(rows, length));
  if (isOrdered())
    most = std::min(usual(elements), most);
  threads = std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(most))), kWarp,
                       std::max(mostThreads, kWarp));
}

bool ScatterLoops::isOrdered() {
  return cast<BoolAttr>(argumentOf(scatter, "ordered")).getValue();
}

Value ScatterLoops::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value ScatterLoops::sizeIndex(int64_t size) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(),
                                         sizeValue(b, b.getLoc(), size));
}

int64_t ScatterLoops::product(int64_t size, int64_t by) {
  return productOf(b.getContext(), {size, by});
}

int64_t ScatterLoops::usual(int64_t size) {
  return sizeTable(b.getContext()).hint(size);
}

Value ScatterLoops::threadId() {
  return gpu::ThreadIdOp::create(b, gpu::Dimension::x);
}

Value ScatterLoops::positionOf(Value row) {
  Value position = memref::LoadOp::create(b, positions, row);
  return arith::IndexCastOp::create(b, b.getIndexType(), position);
}

Value ScatterLoops::loadSource(Value at) {
  bool isOne = sizeOf(source, 0) == 1;
  return memref::LoadOp::create(b, source, isOne ? index(0) : at);
}

void ScatterLoops::forBlocks(int64_t size, int64_t each,
                             llvm::function_ref<void(Value, Value)> emit) {
  Value all = sizeIndex(size);
  auto loop = scf::ForallOp::create(
      b, ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(all)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(each)}, ValueRange(), std::nullopt);
  b.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar(0);
  Value end = arith::AddIOp::create(b, first, index(each));
  emit(first, arith::MinSIOp::create(b, end, all));
}

void ScatterLoops::forLoop(Value from, Value to, int64_t step,
                           llvm::function_ref<void(Value)> emit) {
  auto loop = scf::ForOp::create(b, from, to, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

void ScatterLoops::combineAtOnce(Value first, Value end) {
  first = arith::AddIOp::create(b, first, threadId());
  forLoop(first, end, threads, [&](Value at) {
    Value row = at, column = index(0);
    if (length != 1) {
      Value each = sizeIndex(length);
      row = arith::DivUIOp::create(b, at, each);
      column = arith::RemUIOp::create(b, at, each);
    }
    Value position = positionOf(row);
    Value isSomewhere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, index(0));
    auto branch = scf::IfOp::create(b, isSomewhere, /*withElseRegion=*/false);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value added = loadSource(at);
    memref::AtomicRMWOp::create(
        b, added.getType(), kindFor(added.getType()), added, to,
        ValueRange(arith::AddIOp::create(b, position, column).getResult()));
  });
}

/// The elements of a part are dealt out to the threads in turn, so that one
/// element is always one thread's, whichever row it is written by.
void ScatterLoops::combineInOrder(Value begin, Value end) {
  Value thread = threadId();
  forLoop(index(0), sizeIndex(rows), 1, [&](Value row) {
    Value position = positionOf(row), zero = index(0);
    Value from = arith::MaxSIOp::create(b, position, begin);
    Value until = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, position, sizeIndex(length)), end);
    Value isNowhere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, zero);
    until = arith::SelectOp::create(b, isNowhere, zero, until);
    Value ahead =
        arith::SubIOp::create(b, thread, arith::SubIOp::create(b, from, begin));
    ahead = arith::AndIOp::create(b, ahead, index(threads - 1));
    from = arith::AddIOp::create(b, from, ahead);
    Value start = arith::SubIOp::create(
        b, arith::MulIOp::create(b, row, sizeIndex(length)), position);
    forLoop(from, until, threads, [&](Value at) {
      Value added = loadSource(arith::AddIOp::create(b, start, at));
      Value before = memref::LoadOp::create(b, to, at);
      memref::StoreOp::create(b, combine(before, added), to, at);
    });
  });
}

/// As eager does: NaN wins.
arith::AtomicRMWKind ScatterLoops::kindFor(Type type) {
  using Kind = arith::AtomicRMWKind;
  bool isReal = isa<FloatType>(type);
  return llvm::StringSwitch<Kind>(
             cast<StringAttr>(argumentOf(scatter, "combine")).getValue())
      .Case("add", isReal ? Kind::addf : Kind::addi)
      .Case("mul", isReal ? Kind::mulf : Kind::muli)
      .Case("max", isReal ? Kind::maximumf : Kind::maxs)
      .Case("min", isReal ? Kind::minimumf : Kind::mins)
      .Case("umax", Kind::maxu)
      .Case("umin", Kind::minu)
      .Case("or", Kind::ori)
      .Case("and", Kind::andi)
      .Case("set", Kind::assign);
}

Value ScatterLoops::combine(Value before, Value added) {
  Type type = added.getType();
  arith::AtomicRMWKind kind = kindFor(type);
  if (kind == arith::AtomicRMWKind::assign)
    return added;
  bool isShort = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (isShort) {
    before = arith::ExtFOp::create(b, b.getF32Type(), before);
    added = arith::ExtFOp::create(b, b.getF32Type(), added);
  }
  Value result = arith::getReductionOp(kind, b, b.getLoc(), before, added);
  return isShort ? Value(arith::TruncFOp::create(b, type, result)) : result;
}

void ScatterLoops::emit(func::FuncOp kernel) {
  kernel->setAttr(attr::kThreads, b.getI64IntegerAttr(threads));
  if (isOrdered())
    forBlocks(elements, orderedTile(usual(elements)),
              [&](Value begin, Value end) { combineInOrder(begin, end); });
  else
    forBlocks(product(rows, length), kCombined,
              [&](Value first, Value end) { combineAtOnce(first, end); });
  scatter.erase();
}

} // namespace ltc::compiler
