//===- object.cpp - LLVM dialect to an object file --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/target/cpu/cpu.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace ltc::compiler {
namespace {

Error failed(std::string message) {
  return {
      ErrorCode::CompileFailed, Stage::Codegen, std::move(message), {}, {}, {}};
}

Result<std::unique_ptr<llvm::TargetMachine>> machineFor(const Target &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
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

void setAttributes(llvm::Module &module, const llvm::TargetMachine &machine,
                   unsigned vectorBits) {
  std::string width = std::to_string(vectorBits);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Whether a pass that LLVM's pipeline may do without is run. To look for loads
/// of what an earlier turn of a loop stored took up to half of the pipeline's
/// time, and changed no byte of the code of 41 graphs of models.
bool isWorthwhile(llvm::StringRef pass, const llvm::Any &) {
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

} // namespace

Result<std::string> CpuBackend::emitObject(
    mlir::ModuleOp module, const Target &target, const TargetFacts &facts,
    const std::function<void(const llvm::Module &)> &optimized) const {
  auto machine = machineFor(target);
  if (!machine)
    return machine.takeError();
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    if (function.isPrivate() && !function.isExternal())
      function.setLinkage(mlir::LLVM::Linkage::Internal);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(module, context, "ltc");
  if (!code)
    return failed("translation to LLVM IR failed");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  setAttributes(*code, **machine, facts.vector_bits);
  optimizeModule(*code, **machine);
  optimized(*code);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return failed("the target " + target.str() + " cannot write objects");
  passes.run(*code);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace ltc::compiler
