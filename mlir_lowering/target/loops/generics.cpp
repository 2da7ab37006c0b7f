//===- generics.cpp - What is computed in a kernel on memrefs -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/generics.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// memref.copy of a strided memref would call a run-time library.
static void copyToGeneric(memref::CopyOp copy) {
  if (copy.getSource() == copy.getTarget())
    return copy.erase(); // written in its place already
  OpBuilder b(copy);
  auto type = cast<MemRefType>(copy.getTarget().getType());
  AffineMap id = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  GenericOp::create(b, copy.getLoc(), TypeRange(), copy.getSource(),
                    copy.getTarget(), ArrayRef<AffineMap>{id, id}, parallel,
                    [](OpBuilder &nested, Location loc, ValueRange args) {
                      linalg::YieldOp::create(nested, loc, args[0]);
                    });
  copy.erase();
}

/// What a tile makes of an index is arithmetic, which vectors are made of.
static void expandIndices(GenericOp op) {
  SmallVector<affine::AffineApplyOp> applies;
  op.walk([&](affine::AffineApplyOp apply) { applies.push_back(apply); });
  for (affine::AffineApplyOp apply : applies) {
    OpBuilder b(apply);
    auto values = affine::expandAffineMap(b, apply.getLoc(), apply.getMap(),
                                          apply.getOperands());
    apply.replaceAllUsesWith(values->front());
    apply.erase();
  }
}

FailureOr<SmallVector<GenericOp>> genericsOf(func::FuncOp kernel) {
  SmallVector<memref::CopyOp> copies;
  kernel.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies)
    copyToGeneric(copy);
  SmallVector<linalg::LinalgOp> ops;
  kernel.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(kernel.getContext());
  SmallVector<GenericOp> generics;
  for (linalg::LinalgOp op : ops) {
    auto generic = dyn_cast<GenericOp>(op.getOperation());
    if (!generic) {
      rewriter.setInsertionPoint(op);
      FailureOr<GenericOp> general = linalg::generalizeNamedOp(rewriter, op);
      if (failed(general))
        return op.emitError("no loops for this op");
      generic = *general;
    }
    expandIndices(generic);
    generics.push_back(generic);
  }
  return generics;
}

} // namespace ltc::compiler
