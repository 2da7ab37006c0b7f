//===- optimize.cpp - The optimize stage ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/optimize.h"

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/rewrite.h"
#include "mlir_lowering/target/target_backend.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ltc::compiler {
LogicalResult
forEachKernel(func::FuncOp main,
              llvm::function_ref<LogicalResult(func::FuncOp)> visit) {
  for (auto kernel : main->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (kernel->hasAttr(attr::kKind) && failed(visit(kernel)))
      return failure();
  return success();
}

LogicalResult scheduleKernels(func::FuncOp main,
                              const OptimizeOptions &options) {
  return forEachKernel(main, [&](func::FuncOp kernel) {
    options.tuning.assign(kernel, options.schedules);
    return options.backend->schedule(kernel, options.tuning.schedule(kernel));
  });
}

LogicalResult emitLoops(func::FuncOp main, const OptimizeOptions &options) {
  return forEachKernel(main, [&](func::FuncOp kernel) {
    return options.backend->emitLoops(kernel, options.tuning.schedule(kernel),
                                      options.tuning.facts);
  });
}

namespace {

/// A step and how ltc-opt calls it.
struct NamedStep {
  llvm::StringLiteral name, summary;
  Step *run;
};

constexpr NamedStep kOnTensors[] = {
    {"ltc-cse", "Make one of equal ops on tensors, also of many loops",
     mergeEqualLoops},
    {"ltc-sum-parts",
     "Add tensors that are zero but for a part to that part alone", sumParts},
    {"ltc-fuse", "Fuse elementwise producers into their consumers",
     fuseElementwise},
    {"ltc-join-parts",
     "Call the library for concatenations of many parts that are only copied",
     joinParts},
    {"ltc-horizontal-fusion", "Make one loop of sums over the same elements",
     fuseHorizontally},
    {"ltc-split-reductions", "Cut long reductions into parts for many threads",
     splitReductions},
    {"ltc-mark-repeated-checks",
     "Mark checks that can fail only where an earlier one has failed",
     markRepeatedChecks},
    {"ltc-outline", "Move computations on tensors into kernel functions",
     outlineKernels},
    {"ltc-schedule", "Make each kernel a parallel loop over tiles",
     scheduleKernels},
    {"ltc-plan", "Give every tensor of @main a place in memory", planBuffers},
};
constexpr NamedStep kBufferize = {"ltc-bufferize",
                                  "Put the inside of the kernels on memrefs",
                                  bufferizeKernels};
constexpr NamedStep kEmitLoops = {
    "ltc-emit-loops", "Write linalg on memrefs as loops", emitLoops};

class StepPass : public PassWrapper<StepPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StepPass)

  StepPass(const NamedStep &step, const OptimizeOptions &options)
      : step(step), options(options) {}

  StringRef getArgument() const override { return step.name; }
  StringRef getDescription() const override { return step.summary; }
  StringRef getName() const override { return step.name; }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LtcDialect, affine::AffineDialect, arith::ArithDialect,
                    bufferization::BufferizationDialect, linalg::LinalgDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    readHints(getOperation()); // which another process may have printed
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      getOperation().emitError("a module to optimize has a function @main");
    if (!main || failed(step.run(main, options)))
      signalPassFailure();
  }

private:
  const NamedStep &step;
  OptimizeOptions options;
};

void addSteps(OpPassManager &passes, const OptimizeOptions &options) {
  auto add = [&](const NamedStep &step) {
    passes.addPass(std::make_unique<StepPass>(step, options));
  };
  auto tidy = [&] {
    passes.addPass(createCanonicalizerPass(rewriteConfig()));
    passes.addPass(createCSEPass());
  };
  passes.addPass(createCanonicalizerPass(rewriteConfig()));
  llvm::for_each(kOnTensors, add);
  tidy();
  add(kBufferize);
  tidy();
  add(kEmitLoops);
}

} // namespace

LogicalResult optimize(ModuleOp module, const OptimizeOptions &options) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  addSteps(passes, options);
  return passes.run(module);
}

void registerOptimizePasses(const OptimizeOptions &options) {
  auto add = [&](const NamedStep &step) {
    registerPass(
        [&step, options] { return std::make_unique<StepPass>(step, options); });
  };
  llvm::for_each(kOnTensors, add);
  add(kBufferize);
  add(kEmitLoops);
  PassPipelineRegistration<>(
      "ltc-optimize", "The optimize stage: all of its steps, in order",
      [options](OpPassManager &passes) { addSteps(passes, options); });
}

} // namespace ltc::compiler
