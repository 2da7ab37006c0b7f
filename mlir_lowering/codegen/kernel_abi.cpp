//===- kernel_abi.cpp - Kernels as range functions --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/words.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Replaces the forall by a loop over [begin, end) of its linear iterations;
/// returns their number.
int64_t toRange(scf::ForallOp forall, Value begin, Value end) {
  ImplicitLocOpBuilder b(forall.getLoc(), forall);
  SmallVector<int64_t> trips;
  int64_t total = 1;
  for (auto [low, high, step] :
       llvm::zip_equal(forall.getStaticLowerBound(),
                       forall.getStaticUpperBound(), forall.getStaticStep())) {
    trips.push_back(llvm::divideCeil(high - low, step));
    total *= trips.back();
  }
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one);
  b.setInsertionPointToStart(loop.getBody());
  IRMapping map;
  Value rest = loop.getInductionVar();
  for (size_t i = trips.size(); i-- > 0;) {
    Value step = arith::ConstantIndexOp::create(b, forall.getStaticStep()[i]);
    Value low =
        arith::ConstantIndexOp::create(b, forall.getStaticLowerBound()[i]);
    Value number = rest;
    if (i > 0) {
      Value trip = arith::ConstantIndexOp::create(b, trips[i]);
      number = arith::RemUIOp::create(b, rest, trip);
      rest = arith::DivUIOp::create(b, rest, trip);
    }
    number = b.createOrFold<arith::MulIOp>(number, step);
    map.map(forall.getInductionVar(i),
            b.createOrFold<arith::AddIOp>(number, low));
  }
  for (Operation &op : forall.getBody()->without_terminator())
    b.clone(op, map);
  forall.erase();
  return total;
}

LogicalResult lowerKernel(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  ImplicitLocOpBuilder b =
      ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), &body);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  unsigned count = body.getNumArguments();
  Value begin = body.addArgument(b.getI64Type(), kernel.getLoc());
  Value end = body.addArgument(b.getI64Type(), kernel.getLoc());
  Value words = body.addArgument(pointer, kernel.getLoc());
  for (unsigned i = 0; i < count; ++i) {
    Type type = body.getArgument(i).getType();
    body.getArgument(i).replaceAllUsesWith(loadWord(b, words, i, type));
  }
  Value from = arith::IndexCastOp::create(b, b.getIndexType(), begin);
  Value to = arith::IndexCastOp::create(b, b.getIndexType(), end);
  body.eraseArguments(0, count);
  kernel.setType(
      b.getFunctionType({b.getI64Type(), b.getI64Type(), pointer}, {}));

  auto loops = llvm::to_vector(kernel.getOps<scf::ForallOp>());
  if (loops.size() > 1)
    return kernel.emitError("a kernel has one parallel loop");
  int64_t iterations = loops.empty() ? 1 : toRange(loops.front(), from, to);
  kernel->setAttr("ltc.iterations", b.getI64IntegerAttr(iterations));
  // A stack slot in a loop would grow the stack and never live in registers.
  SmallVector<memref::AllocaOp> slots;
  kernel.walk([&](memref::AllocaOp slot) { slots.push_back(slot); });
  for (memref::AllocaOp slot : slots)
    slot->moveBefore(&body, body.begin());
  return success();
}

} // namespace

LogicalResult lowerKernels(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(attr::kKind) && failed(lowerKernel(kernel)))
      return failure();
  return success();
}

} // namespace ltc::compiler
