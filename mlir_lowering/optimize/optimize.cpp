//===- optimize.cpp - The optimize stage ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/optimize.h"

#include "mlir_lowering/rewrite.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ltc::compiler {

/// Of what a value is computed from, a few ops deep.
static llvm::hash_code hashOf(Value value, unsigned depth = 4) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return llvm::hash_combine(argument.getArgNumber());
  Operation *op = value.getDefiningOp();
  llvm::hash_code hash = llvm::hash_combine(
      op->getName(), op->hashProperties(), op->getRawDictionaryAttrs(),
      cast<OpResult>(value).getResultNumber());
  for (Value operand : op->getOperands())
    if (depth)
      hash = llvm::hash_combine(hash, hashOf(operand, depth - 1));
  return hash;
}

/// CSE finds equal ops by a hash that knows nothing of their regions. Of loops
/// over one tensor that differ in a captured scalar it would compare each with
/// each: 46 s for 10,000 of them.
static void markCaptures(func::FuncOp function, StringRef mark) {
  Builder b(function.getContext());
  for (auto op : function.getOps<linalg::GenericOp>()) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::hash_code hash(0);
    for (Value value : captured)
      hash = llvm::hash_combine(hash, hashOf(value));
    op->setAttr(mark, b.getI64IntegerAttr(int64_t(size_t(hash))));
  }
}

static LogicalResult run(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(std::move(pass));
  return passes.run(module);
}

static LogicalResult tidy(ModuleOp module) {
  return success(
      succeeded(run(module, createCanonicalizerPass(rewriteConfig()))) &&
      succeeded(run(module, createCSEPass())));
}

/// tidy(), while @main is made of loops on tensors.
static LogicalResult tidyTensors(ModuleOp module, func::FuncOp main) {
  constexpr llvm::StringLiteral mark = "ltc.captures";
  if (failed(run(module, createCanonicalizerPass(rewriteConfig()))))
    return failure();
  markCaptures(main, mark);
  LogicalResult merged = run(module, createCSEPass());
  for (auto op : main.getOps<linalg::GenericOp>())
    op->removeAttr(mark);
  return merged;
}

LogicalResult optimize(ModuleOp module, const Machine &machine,
                       const Optimizations &optimizations) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return module.emitError("a module to optimize has a function @main");
  if (failed(tidyTensors(module, main)))
    return failure();
  if (optimizations.accumulate)
    sumParts(main);
  if (failed(fuseElementwise(main, optimizations)))
    return failure();
  joinParts(main);
  if (optimizations.fuse)
    mergeSiblings(main);
  splitReductions(main);
  markRepeatedChecks(main);
  if (failed(outlineKernels(module, optimizations)) ||
      failed(scheduleKernels(module)) ||
      failed(planBuffers(module, optimizations)) || failed(tidy(module)) ||
      failed(bufferizeKernels(module)) || failed(tidy(module)) ||
      failed(emitLoops(module, optimizations.vectorize ? machine : Machine{0})))
    return failure();
  return success();
}

} // namespace ltc::compiler
