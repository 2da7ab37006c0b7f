//===- transposed_tile.cpp - What is read across its memory ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of an operand that lies across the results, a tile is copied to shared memory
// first, in the order in which it lies, so that neighbours read and write
// neighbours. Its rows there are one element longer, which gives the elements
// of a column a bank each.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/block_nest.h"
#include "mlir_lowering/target/nvptx/choose_shares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;

namespace ltc::compiler {

bool BlockNest::isTransposed() {
  constexpr int64_t mostMemory = 32 * 1024;
  if (choice.crossing.empty() || nest.loops.size() != 2 || outer.size() != 2)
    return false;
  int64_t bytes = 0;
  for (unsigned operand : choice.crossing) {
    if (operand >= inputs || nest.accesses[operand].strides.front() != 1)
      return false;
    bytes += elementBytes(getElementTypeOrSelf(op->getOperand(operand)));
  }
  int64_t side = mostOf(nest.loops[0]), other = mostOf(nest.loops[1]);
  return side && other && bytes * (side + 1) * other <= mostMemory;
}

void BlockNest::emitTransposed() {
  int64_t side = mostOf(nest.loops[0]), other = mostOf(nest.loops[1]);
  llvm::SmallDenseMap<unsigned, Value> copies;
  for (unsigned operand : choice.crossing)
    copies[operand] = scratch(getElementTypeOrSelf(op->getOperand(operand)),
                              (side + 1) * other);
  auto place = [&] {
    Value row = arith::MulIOp::create(b, at[1], index(side + 1));
    return arith::AddIOp::create(b, row, at[0]).getResult();
  };
  share({1, 0}, [&] {
    for (auto [operand, copy] : copies) {
      Value value = memref::LoadOp::create(b, nest.accesses[operand].base,
                                           position[operand]);
      memref::StoreOp::create(b, value, copy, place());
    }
  });
  gpu::BarrierOp::create(b);
  share({0, 1}, [&] {
    Values loaded(op->getNumOperands());
    for (auto [operand, copy] : copies)
      loaded[operand] = memref::LoadOp::create(b, copy, place());
    Values to = positions(), values = scalarBody({}, loaded);
    for (unsigned i = 0; i < results(); ++i)
      memref::StoreOp::create(b, values[i], resultBase(i), to[inputs + i]);
  });
}

} // namespace ltc::compiler
