//===- registers.cpp - What a block's threads keep of a tile --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/registers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace ltc::compiler {

/// The temporary or the argument that a memref is of.
static Value sourceOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// The same, and nothing for all arguments: one may be another's memory.
static Value memoryOf(Value memref) {
  Value source = sourceOf(memref);
  return source.getDefiningOp<memref::AllocaOp>() ? source : Value();
}

const Registers::Values *Registers::find(Value memref, Sharing sharing) const {
  auto found = held.find(memref);
  return found != held.end() && found->second.sharing == sharing
             ? &found->second.values
             : nullptr;
}

void Registers::hold(Value memref, Sharing sharing, Values values) {
  held[memref] = {sharing, std::move(values)};
}

void Registers::forget(Value memref) {
  Value source = sourceOf(memref);
  for (Value other : llvm::to_vector(llvm::make_first_range(held)))
    if (sourceOf(other) == source)
      held.erase(other);
}

bool Registers::needsBarrier(const Use &use) const {
  auto found = traffic.find(memoryOf(use.memref));
  if (found == traffic.end())
    return false;
  const Traffic &before = found->second;
  if (!before.isWritten && !use.isWrite)
    return false;
  return !use.own || before.own != use.own;
}

void Registers::note(const Use &use) {
  auto [place, isNew] = traffic.try_emplace(memoryOf(use.memref));
  Traffic &all = place->second;
  if (isNew)
    all.own = use.own;
  else if (all.own != use.own)
    all.own.reset();
  (use.isWrite ? all.isWritten : all.isRead) = true;
}

void Registers::enter(linalg::GenericOp op, ArrayRef<Use> uses) {
  bool moved = block != op->getBlock();
  // At the head of a loop's body, it also keeps its turns apart.
  bool needed = moved ? block || op->getParentOfType<scf::ForOp>()
                      : llvm::any_of(uses, [&](const Use &use) {
                          return needsBarrier(use);
                        });
  if (moved)
    held.clear();
  block = op->getBlock();
  if (needed) {
    OpBuilder b(op);
    gpu::BarrierOp::create(b, op.getLoc());
  }
  if (moved || needed)
    traffic.clear();
  for (const Use &use : uses)
    note(use);
}

/// Collects what is made of a temporary; false if something reads it.
static bool collectWrites(Value memory, SmallVectorImpl<Operation *> &users) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    bool isView = isa<memref::ExtractStridedMetadataOp, memref::SubViewOp,
                      memref::ReinterpretCastOp, memref::CastOp>(user);
    bool isWrite = isa<memref::StoreOp, vector::StoreOp>(user) &&
                   use.getOperandNumber() == 1;
    if (!isView && !isWrite)
      return false;
    for (Value result : user->getResults())
      if (isa<MemRefType>(result.getType()) && !collectWrites(result, users))
        return false;
    users.push_back(user);
  }
  return true;
}

void eraseUnreadTemporaries(func::FuncOp kernel) {
  SmallVector<memref::AllocaOp> temporaries;
  kernel.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
  for (memref::AllocaOp temporary : temporaries) {
    SmallVector<Operation *> users; // what uses others stands first
    if (!collectWrites(temporary, users))
      continue;
    for (Operation *user : users)
      if (user->use_empty())
        user->erase();
    if (temporary->use_empty())
      temporary.erase();
  }
}

} // namespace ltc::compiler
