//===- bufferize.cpp - The inside of kernels on memrefs ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/arena.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// How many bytes a temporary takes: of a tile cut short by the edge, as many
/// as of a whole one.
FailureOr<Formula> bytesOf(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  SizeTable &table = sizeTable(alloc.getContext());
  Formula bytes(elementBytes(type.getElementType()));
  unsigned open = 0;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    FailureOr<int64_t> most = size;
    if (ShapedType::isDynamic(size)) {
      most = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB, {alloc.getMemref(), int64_t(dim)},
          /*stopCondition=*/nullptr, /*closedUB=*/true);
      Value given = alloc.getDynamicSizes()[open++];
      if (failed(most))
        most = sizeOf(OpFoldResult(given));
    }
    if (failed(most) || ShapedType::isDynamic(*most))
      return alloc.emitError("a temporary of unknown size");
    bytes = bytes * table.formula(*most);
  }
  if (bytes.isConstant())
    return Formula(int64_t(llvm::alignTo(bytes.constant(), kArenaAlignment)));
  return bytes;
}

/// What so many bytes take, for any sizes, when they begin at alignedStart().
Formula roomFor(const Formula &bytes) {
  if (bytes.isConstant())
    return bytes;
  Formula room = kArenaAlignment;
  for (const Formula::Term &term : bytes.terms()) {
    Formula product(std::max<int64_t>(term.coefficient, 0));
    for (uint32_t symbol : term.symbols)
      product = product * Formula::symbol(symbol);
    room = room + product;
  }
  return room;
}

/// The first multiple of the alignment behind so many bytes.
Value alignedStart(OpBuilder &b, Location loc, const Formula &bytes) {
  int64_t size = sizeTable(b.getContext()).size(bytes);
  Value start =
      getValueOrCreateConstantIndexOp(b, loc, sizeValue(b, loc, size));
  if (bytes.isConstant())
    return start;
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  start = arith::AddIOp::create(b, loc, start, constant(kArenaAlignment - 1));
  return arith::AndIOp::create(b, loc, start, constant(-kArenaAlignment));
}

/// Memory on the stack of the kernel for a temporary of a loop's tile.
Value placeOnStack(memref::AllocOp alloc, int64_t bytes, Block &entry) {
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  Location loc = alloc.getLoc();
  MemRefType type = alloc.getType();
  IntegerAttr alignment = b.getI64IntegerAttr(kArenaAlignment);
  if (type.hasStaticShape())
    return memref::AllocaOp::create(b, loc, type, alignment);
  Value memory = memref::AllocaOp::create(
      b, loc, MemRefType::get({bytes}, b.getI8Type()), alignment);
  b.setInsertionPoint(alloc);
  Value start = arith::ConstantIndexOp::create(b, loc, 0);
  return memref::ViewOp::create(b, loc, type, memory, start,
                                alloc.getDynamicSizes());
}

/// Memory from the heap, while the kernel runs over its share of a loop, for a
/// temporary of a tile that is too large for the stack, or has no largest size.
Value placeOnHeap(memref::AllocOp alloc, const Formula &bytes, Block &entry) {
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  Location loc = alloc.getLoc();
  int64_t size = sizeTable(b.getContext()).size(bytes);
  Value memory = memref::AllocOp::create(
      b, loc, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
      getValueOrCreateConstantIndexOp(b, loc, sizeValue(b, loc, size)),
      b.getI64IntegerAttr(kArenaAlignment));
  b.setInsertionPoint(entry.getTerminator());
  memref::DeallocOp::create(b, loc, memory);
  b.setInsertionPoint(alloc);
  Value start = arith::ConstantIndexOp::create(b, loc, 0);
  return memref::ViewOp::create(b, loc, alloc.getType(), memory, start,
                                alloc.getDynamicSizes());
}

/// Temporaries go on the stack; what is too large for it becomes an argument
/// that @main takes from the arena (`scratch` bytes of it). `stack`: the bytes
/// that it may have on the stack.
LogicalResult placeTemporaries(func::FuncOp kernel, int64_t stack,
                               Formula &scratch) {
  Block &entry = kernel.getBody().front();
  scratch = Formula();
  Value memory;
  SmallVector<memref::AllocOp> allocs;
  kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  // All sizes first: one may be that of another temporary.
  SmallVector<Formula> sizes;
  for (memref::AllocOp alloc : allocs) {
    FailureOr<Formula> bytes = bytesOf(alloc);
    if (failed(bytes))
      return failure();
    sizes.push_back(*bytes);
  }
  for (auto [alloc, size] : llvm::zip_equal(allocs, sizes)) {
    Value place;
    int64_t bytes = size.isConstant() ? size.constant() : INT64_MAX;
    if (bytes <= stack) {
      stack -= bytes;
      place = placeOnStack(alloc, bytes, entry);
    } else if (!alloc->getParentOfType<scf::ForallOp>()) {
      OpBuilder b = OpBuilder::atBlockBegin(&entry);
      if (!memory)
        memory = entry.addArgument(
            MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
            alloc.getLoc());
      Value offset = alignedStart(b, alloc.getLoc(), scratch);
      if (!size.isConstant())
        b.setInsertionPoint(alloc); // where its sizes are known
      place = memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), memory,
                                     offset, alloc.getDynamicSizes());
      scratch = scratch + roomFor(size);
    } else {
      place = placeOnHeap(alloc, size, entry);
    }
    alloc.getResult().replaceAllUsesWith(place);
    alloc.erase();
  }
  if (memory) {
    SmallVector<DictionaryAttr> attributes;
    kernel.getAllArgAttrs(attributes);
    attributes.push_back(DictionaryAttr::get(kernel.getContext()));
    kernel.setType(
        FunctionType::get(kernel.getContext(), entry.getArgumentTypes(), {}));
    kernel.setAllArgAttrs(attributes);
  }
  return success();
}

/// Kernels run one after the other, so one more part of the arena serves all of
/// them.
void passScratch(func::FuncOp main, const llvm::StringMap<Formula> &needs) {
  Formula most;
  for (const auto &need : needs)
    most = largest(most, need.second);
  if (most == Formula())
    return;
  Block &entry = main.getBody().front();
  Builder b(main.getContext());
  BlockArgument scratch = entry.addArgument(
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), main.getLoc());
  SmallVector<int64_t> arena =
      sizesIn(main->getAttrOfType<ArrayAttr>(attr::kArena));
  arena.push_back(sizeTable(b.getContext()).size(most));
  main->setAttr(attr::kArena, sizesAttr(b, arena));
  for (auto call : main.getOps<func::CallOp>())
    if (needs.contains(call.getCallee()))
      call.getOperandsMutable().append(scratch);
  SmallVector<DictionaryAttr> attributes;
  main.getAllArgAttrs(attributes);
  attributes.push_back(b.getDictionaryAttr({}));
  main.setType(b.getFunctionType(entry.getArgumentTypes(), {}));
  main.setAllArgAttrs(attributes);
}

} // namespace

LogicalResult bufferizeKernels(func::FuncOp main,
                               const OptimizeOptions &options) {
  bufferization::OneShotBufferizationOptions bufferize;
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.bufferAlignment = kArenaAlignment;
  llvm::StringMap<Formula> scratch;
  IRRewriter rewriter(main.getContext());
  LogicalResult result = forEachKernel(main, [&](func::FuncOp kernel) {
    bufferization::BufferizationState state;
    Formula bytes;
    if (failed(bufferization::eliminateEmptyTensors(rewriter, kernel)) ||
        failed(bufferization::runOneShotBufferize(kernel, bufferize, state)) ||
        failed(
            placeTemporaries(kernel, options.tuning.facts.stack_bytes, bytes)))
      return failure();
    if (bytes != Formula())
      scratch[kernel.getName()] = bytes;
    return success();
  });
  if (failed(result))
    return failure();
  passScratch(main, scratch);
  return success();
}

} // namespace ltc::compiler
