//===- code.cpp - LLVM dialect to machine code ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/llvm/llvm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace ltc::compiler {

static Error failed(std::string message) {
  return {
      ErrorCode::CompileFailed, Stage::Codegen, std::move(message), {}, {}, {}};
}

Result<std::unique_ptr<llvm::TargetMachine>> machineFor(const Target &target) {
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return failed("no code generator for " + target.triple + ": " + message);
  // A product and a sum become one instruction only where they say so: what an
  // op gives must not depend on what it is fused with.
  llvm::TargetOptions options;
  // Asking each time whether a 64-bit division would fit into 32 bits costs
  // more than it saves: signs and sizes that vary are not foreseen.
  std::string features = target.features;
  if (triple.isX86())
    features += features.empty() ? "-idivq-to-divl" : ",-idivq-to-divl";
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.cpu, features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine)
    return failed("no code generator for " + target.str());
  return machine;
}

/// Whether a pass that LLVM's pipeline may do without is run. To look for loads
/// of what an earlier turn of a loop stored took up to half of the pipeline's
/// time, and changed no byte of the code of 41 graphs of models.
static bool isWorthwhile(llvm::StringRef pass, const llvm::Any &) {
  return pass != "LoopLoadEliminationPass";
}

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // vectors are there already
  tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(isWorthwhile);
  llvm::PassBuilder builder(&machine, tuning, /*PGOOpt=*/std::nullopt,
                            &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                llvm::LLVMContext &context,
                                                llvm::TargetMachine &machine) {
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    if (function.isPrivate() && !function.isExternal())
      function.setLinkage(mlir::LLVM::Linkage::Internal);
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(module, context, "ltc");
  if (!code)
    return failed("translation to LLVM IR failed");
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  return code;
}

Result<std::string> writeCode(llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return failed("the target " + machine.getTargetTriple().str() +
                  " cannot write such a file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace ltc::compiler
