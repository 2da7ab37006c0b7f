//===- bufferize.cpp - The inside of kernels on memrefs ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/optimize/arena.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// What the stack of a worker thread may hold; libgomp gives 2 MiB or more.
constexpr int64_t kStackBytes = 256 * 1024;

/// How many bytes a temporary takes: of a tile cut short by the edge, as many
/// as of a whole one.
FailureOr<int64_t> bytesOf(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  int64_t bytes = elementBytes(type.getElementType());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    FailureOr<int64_t> most = size;
    if (ShapedType::isDynamic(size))
      most = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB, {alloc.getMemref(), int64_t(dim)},
          /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (failed(most))
      return alloc.emitError("a temporary of unknown size");
    bytes *= *most;
  }
  return int64_t(llvm::alignTo(bytes, kArenaAlignment));
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

/// Temporaries go on the stack; what is too large for it becomes an argument
/// that @main takes from the arena (`scratch` bytes of it).
LogicalResult placeTemporaries(func::FuncOp kernel, int64_t &scratch) {
  Block &entry = kernel.getBody().front();
  int64_t stack = 0;
  scratch = 0;
  Value memory;
  SmallVector<memref::AllocOp> allocs;
  kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  // All sizes first: one may be that of another temporary.
  SmallVector<int64_t> sizes;
  for (memref::AllocOp alloc : allocs) {
    FailureOr<int64_t> bytes = bytesOf(alloc);
    if (failed(bytes))
      return failure();
    sizes.push_back(*bytes);
  }
  for (auto [alloc, bytes] : llvm::zip_equal(allocs, sizes)) {
    Value place;
    if (stack + bytes <= kStackBytes) {
      stack += bytes;
      place = placeOnStack(alloc, bytes, entry);
    } else if (!alloc->getParentOfType<scf::ForallOp>()) {
      OpBuilder b = OpBuilder::atBlockBegin(&entry);
      if (!memory)
        memory = entry.addArgument(
            MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
            alloc.getLoc());
      Value offset = arith::ConstantIndexOp::create(b, alloc.getLoc(), scratch);
      place = memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), memory,
                                     offset, ValueRange());
      scratch += bytes;
    } else {
      return alloc.emitError("a temporary of a parallel loop is too large");
    }
    alloc.getResult().replaceAllUsesWith(place);
    alloc.erase();
  }
  if (memory)
    kernel.setType(
        FunctionType::get(kernel.getContext(), entry.getArgumentTypes(), {}));
  return success();
}

/// Kernels run one after the other, so one block behind the planned arena
/// serves all of them.
void passScratch(func::FuncOp main, llvm::DenseMap<StringRef, int64_t> &needs) {
  int64_t most = 0;
  for (auto [name, bytes] : needs)
    most = std::max(most, bytes);
  if (most == 0)
    return;
  Block &entry = main.getBody().front();
  BlockArgument arena = entry.getArguments().back();
  int64_t planned = cast<MemRefType>(arena.getType()).getDimSize(0);
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  arena.setType(MemRefType::get({planned + most}, b.getI8Type()));
  Value offset = arith::ConstantIndexOp::create(b, main.getLoc(), planned);
  auto type = MemRefType::get({most}, b.getI8Type());
  Value view = memref::ViewOp::create(b, main.getLoc(), type, arena, offset,
                                      ValueRange());
  Value scratch = memref::CastOp::create(
      b, main.getLoc(), MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
      view);
  for (auto call : main.getOps<func::CallOp>())
    if (needs.lookup(call.getCallee()))
      call.getOperandsMutable().append(scratch);
  main.setType(b.getFunctionType(entry.getArgumentTypes(), {}));
}

} // namespace

LogicalResult bufferizeKernels(ModuleOp module) {
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  options.bufferAlignment = kArenaAlignment;
  llvm::DenseMap<StringRef, int64_t> scratch;
  IRRewriter rewriter(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(attr::kKind))
      continue;
    bufferization::BufferizationState state;
    int64_t bytes = 0;
    if (failed(bufferization::eliminateEmptyTensors(rewriter, kernel)) ||
        failed(bufferization::runOneShotBufferize(kernel, options, state)) ||
        failed(placeTemporaries(kernel, bytes)))
      return failure();
    if (bytes)
      scratch[kernel.getName()] = bytes;
  }
  passScratch(module.lookupSymbol<func::FuncOp>("main"), scratch);
  return success();
}

} // namespace ltc::compiler
