//===- lower_gpu_ops.cpp - Threads and shared memory to LLVM's ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir_lowering/dialect/element_type.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr unsigned kShared = 3; ///< NVPTX's address space

Value intrinsic(ImplicitLocOpBuilder &b, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, b.getI32Type(), b.getStringAttr(name),
                                       operands)
      .getResults();
}

Value number(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(), value);
}

void lower(gpu::ThreadIdOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value id = intrinsic(b, "llvm.nvvm.read.ptx.sreg.tid.x", {});
  op.replaceAllUsesWith(
      arith::IndexCastUIOp::create(b, b.getIndexType(), id).getResult());
}

/// Threads of a team within a warp; 0: teams are larger.
int64_t teamOf(Operation *op) {
  auto team = op->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(
      attr::kTeam);
  return team ? team.getInt() : 0;
}

/// The threads of the team among those of its warp, a bit for each.
Value teamMask(ImplicitLocOpBuilder &b, int64_t team) {
  if (team == 0 || team == kWarp)
    return number(b, -1);
  Value thread = intrinsic(b, "llvm.nvvm.read.ptx.sreg.tid.x", {});
  Value first = LLVM::AndOp::create(b, thread, number(b, kWarp - team));
  return LLVM::ShlOp::create(b, number(b, (int64_t(1) << team) - 1), first);
}

void lower(gpu::ShuffleOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value all = teamMask(b, teamOf(op)), width = number(b, kWarp - 1);
  op.getShuffleResult().replaceAllUsesWith(
      intrinsic(b, "llvm.nvvm.shfl.sync.bfly.i32",
                {all, op.getValue(), op.getOffset(), width}));
}

void lower(gpu::BarrierOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  if (int64_t team = teamOf(op)) {
    if (team > 1)
      LLVM::CallIntrinsicOp::create(b,
                                    b.getStringAttr("llvm.nvvm.bar.warp.sync"),
                                    ValueRange(teamMask(b, team)));
    return;
  }
  LLVM::CallIntrinsicOp::create(
      b, b.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
      ValueRange(number(b, 0)));
}

int64_t bytesOf(MemRefType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

/// Makes temporaries of a tile the block's, in shared memory.
LogicalResult placeTemporaries(func::FuncOp kernel) {
  constexpr int64_t most = 48L * 1024; // without asking the driver for more
  auto module = kernel->getParentOfType<ModuleOp>();
  LLVMTypeConverter converter(kernel.getContext());
  int64_t total = 0, number = 0;
  SmallVector<memref::AllocaOp> temporaries;
  kernel.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
  for (memref::AllocaOp op : temporaries) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto alignment = int64_t(op.getAlignment().value_or(16));
    int64_t bytes = bytesOf(op.getType());
    total = llvm::alignTo(total, alignment) + bytes;
    if (total > most)
      return op.emitError("the temporaries of a block are larger than the "
                          "memory that its threads share");
    b.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), uint64_t(bytes)),
        /*isConstant=*/false, LLVM::Linkage::Internal,
        (kernel.getName() + "_shared_" + Twine(number++)).str(),
        /*value=*/mlir::Attribute(), uint64_t(alignment), kShared);
    b.setInsertionPoint(op);
    Value place = LLVM::AddressOfOp::create(b, global);
    if (op.getType().getMemorySpaceAsInt() != kShared)
      place = LLVM::AddrSpaceCastOp::create(
          b, LLVM::LLVMPointerType::get(b.getContext()), place);
    Value made = MemRefDescriptor::fromStaticShape(b, b.getLoc(), converter,
                                                   op.getType(), place);
    op.replaceAllUsesWith(
        UnrealizedConversionCastOp::create(b, op.getType(), made).getResult(0));
    op.erase();
  }
  return success();
}

template <typename Op> void lowerAll(ModuleOp part) {
  SmallVector<Op> ops;
  part.walk([&](Op op) { ops.push_back(op); });
  for (Op op : ops) {
    lower(op);
    op.erase();
  }
}

} // namespace

LogicalResult lowerGpuOps(ModuleOp part) {
  lowerMatrixOps(part);
  lowerAll<gpu::ThreadIdOp>(part);
  lowerAll<gpu::ShuffleOp>(part);
  lowerAll<gpu::BarrierOp>(part);
  Builder b(part.getContext());
  for (auto kernel : llvm::to_vector(part.getOps<func::FuncOp>())) {
    if (failed(placeTemporaries(kernel)))
      return failure();
    auto threads = kernel->getAttrOfType<IntegerAttr>(attr::kThreads);
    auto words = kernel->getAttrOfType<IntegerAttr>(attr::kWords);
    if (!threads || !words)
      continue; // no kernel
    auto note = [&](StringRef name, IntegerAttr value) -> mlir::Attribute {
      return b.getStrArrayAttr({name, std::to_string(value.getInt())});
    };
    SmallVector<mlir::Attribute> notes{note(kThreadsNote, threads),
                                       note(kWordsNote, words)};
    if (auto bytes = kernel->getAttrOfType<DenseI64ArrayAttr>(attr::kBytes)) {
      std::string text = llvm::join(
          llvm::map_range(bytes.asArrayRef(),
                          [](int64_t size) { return std::to_string(size); }),
          ",");
      notes.push_back(b.getStrArrayAttr({kBytesNote, text}));
    }
    kernel->setAttr("passthrough", b.getArrayAttr(notes));
  }
  return success();
}

} // namespace ltc::compiler
