//===- fold_block.cpp - What the threads of a block have added up ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

/// A 32-bit word of the thread whose number in the warp differs in that bit.
static Value exchange(ImplicitLocOpBuilder &b, Value word, int64_t distance) {
  Value by = arith::ConstantIntOp::create(b, distance, 32);
  Value width = arith::ConstantIntOp::create(b, kWarp, 32);
  return gpu::ShuffleOp::create(b, word, by, width, gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

static Value exchangeInteger(ImplicitLocOpBuilder &b, Value value,
                             int64_t distance) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    return exchange(b, value, distance);
  if (bits < 32)
    return arith::TruncIOp::create(
        b, type, exchange(b, arith::ExtUIOp::create(b, word, value), distance));
  Value shift = arith::ConstantIntOp::create(b, 32, 64);
  Value low = arith::TruncIOp::create(b, word, value);
  Value high =
      arith::TruncIOp::create(b, word, arith::ShRUIOp::create(b, value, shift));
  low = arith::ExtUIOp::create(b, type, exchange(b, low, distance));
  high = arith::ExtUIOp::create(b, type, exchange(b, high, distance));
  return arith::OrIOp::create(b, low, arith::ShLIOp::create(b, high, shift));
}

Value BlockNest::shuffle(Value value, int64_t distance) {
  Type type = value.getType();
  if (type.isIndex()) {
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), value);
    return arith::IndexCastOp::create(b, type,
                                      exchangeInteger(b, number, distance));
  }
  if (type.isInteger())
    return exchangeInteger(b, value, distance);
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value number = arith::BitcastOp::create(b, bits, value);
  return arith::BitcastOp::create(b, type,
                                  exchangeInteger(b, number, distance));
}

/// Each of `width` threads side by side has what all of them have together.
BlockNest::Values BlockNest::foldThreads(Values values, int64_t width) {
  for (int64_t distance = width / 2; distance > 0; distance /= 2) {
    Values others;
    for (Value value : values)
      others.push_back(shuffle(value, distance));
    values = choice.folding->merge(b, values, others);
  }
  return values;
}

Value BlockNest::scratch(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(
      &op->getParentOfType<func::FuncOp>().getBody().front());
  return memref::AllocaOp::create(b, MemRefType::get({count}, element));
}

/// Every thread has what all of the team have together.
BlockNest::Values BlockNest::foldBlock(Values values) {
  values = foldThreads(values, std::min(threads, kWarp));
  int64_t warps = threads / kWarp;
  if (warps <= 1) {
    gpu::BarrierOp::create(b); // what sums start from may be their place
    return values;
  }
  Values memory;
  for (Value value : values)
    memory.push_back(scratch(value.getType(), warps));
  Value thread = threadId();
  Value lane = arith::RemUIOp::create(b, thread, index(kWarp));
  Value warp = arith::DivUIOp::create(b, thread, index(kWarp));
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  auto store = [&](ArrayRef<Value>) {
    for (auto [value, place] : llvm::zip_equal(values, memory))
      memref::StoreOp::create(b, value, place, warp);
    return Values();
  };
  if (!own) // others may still read an earlier row's
    gpu::BarrierOp::create(b);
  ifElse(isFirst, {}, store, [](ArrayRef<Value>) { return Values(); });
  gpu::BarrierOp::create(b);
  Value from = arith::RemUIOp::create(b, lane, index(warps));
  for (auto [value, place] : llvm::zip_equal(values, memory))
    value = memref::LoadOp::create(b, place, from);
  return foldThreads(values, warps);
}

} // namespace ltc::compiler
