//===- optimize.cpp - The optimize stage ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/IR/Verifier.h"
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

LogicalResult optimize(ModuleOp module, const Machine &machine) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return module.emitError("a module to optimize has a function @main");
  struct Step {
    const char *name;
    std::function<LogicalResult()> run;
  };
  for (Step step : {
           Step{"tidy", [&] { return tidy(module); }},
           Step{"fuse", [&] { return fuseElementwise(main); }},
           Step{"outline", [&] { return outlineKernels(module); }},
           Step{"schedule", [&] { return scheduleKernels(module); }},
           Step{"plan", [&] { return planBuffers(module); }},
           Step{"tidy", [&] { return tidy(module); }},
           Step{"bufferize", [&] { return bufferizeKernels(module); }},
           Step{"tidy", [&] { return tidy(module); }},
           Step{"loops", [&] { return emitLoops(module, machine); }},
       }) {
    if (getenv("LTC_STEP")) llvm::errs() << "STEP " << step.name << "\n";
    if (failed(step.run()))
      return failure();
    if (getenv("LTC_STEP")) {module.print(llvm::errs(), OpPrintingFlags().assumeVerified());
    if (failed(verify(module)))
      return module.emitError("the module is wrong after the step ") << step.name;}
  }
  return success();
}

} // namespace ltc::compiler
