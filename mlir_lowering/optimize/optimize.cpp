//===- optimize.cpp - The optimize stage ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ltc::compiler {

static LogicalResult tidy(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

LogicalResult optimize(ModuleOp module, const Machine &machine,
                       const Optimizations &optimizations) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return module.emitError("a module to optimize has a function @main");
  if (failed(tidy(module)) || failed(fuseElementwise(main, optimizations)))
    return failure();
  splitReductions(main);
  if (failed(outlineKernels(module, optimizations)) ||
      failed(scheduleKernels(module)) ||
      failed(planBuffers(module, optimizations)) || failed(tidy(module)) ||
      failed(bufferizeKernels(module)) || failed(tidy(module)) ||
      failed(emitLoops(module, optimizations.vectorize ? machine : Machine{0})))
    return failure();
  return success();
}

} // namespace ltc::compiler
