//===- object.cpp - LLVM dialect to an object file --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/cpu.h"
#include "mlir_lowering/target/llvm/llvm.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace ltc::compiler {

Result<std::unique_ptr<llvm::TargetMachine>> hostMachine(const Target &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  return machineFor(target);
}

static void setAttributes(llvm::Module &module,
                          const llvm::TargetMachine &machine,
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

Result<std::string>
emitObject(llvm::Module &code, llvm::TargetMachine &machine,
           unsigned vectorBits,
           const std::function<void(const llvm::Module &)> &optimized) {
  setAttributes(code, machine, vectorBits);
  optimizeModule(code, machine);
  optimized(code);
  return writeCode(code, machine, llvm::CodeGenFileType::ObjectFile);
}

Result<std::string> CpuBackend::emitCode(
    mlir::ModuleOp module, const Target &target, const TargetFacts &facts,
    const std::function<void(const llvm::Module &)> &optimized) const {
  auto machine = hostMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translate(module, context, **machine);
  if (!code)
    return code.takeError();
  return emitObject(**code, **machine, facts.vector_bits, optimized);
}

} // namespace ltc::compiler
