//===- contract.cpp - What may be left after a stage ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/contract.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

using namespace mlir;

namespace ltc::compiler {

static bool onTensors(Operation *op) {
  auto isTensor = llvm::IsaPred<mlir::TensorType>;
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

static bool allowed(Operation *op, Stage after) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (isa<ModuleOp>(op))
    return true;
  switch (after) {
  case Stage::Lower:
    return !isa<OpOp>(op) && dialect != "memref" && dialect != "llvm";
  case Stage::Optimize:
    return !isa<OpOp>(op) && !onTensors(op) && dialect != "linalg" &&
           dialect != "tensor" && dialect != "bufferization";
  case Stage::Codegen:
    return dialect == "llvm";
  default:
    return true;
  }
}

/// Every size is a number or a formula of the graph's symbols.
static LogicalResult checkSizes(Operation *op) {
  for (Value result : op->getResults())
    if (auto tensor = dyn_cast<RankedTensorType>(result.getType());
        tensor && !tensor.hasStaticShape() &&
        llvm::any_of(sizesOf(result), ShapedType::isDynamic))
      return op->emitOpError("has the type ")
             << tensor << ", and nothing says what its sizes are";
  return success();
}

LogicalResult checkContract(ModuleOp module, Stage after) {
  WalkResult result = module.walk([&](Operation *op) {
    if (!allowed(op, after)) {
      op->emitOpError("is left after the stage ") << StringRef(name(after));
      return WalkResult::interrupt();
    }
    if (after == Stage::Lower && failed(checkSizes(op)))
      return WalkResult::interrupt();
    if (auto size = dyn_cast<SizeOp>(op); size && failed(size.verify()))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace ltc::compiler
