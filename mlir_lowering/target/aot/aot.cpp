//===- aot.cpp - Code for a process without a linker ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU's code as images, for a CPU that is named and need not be the host:
// what bundles hold (docs/aot.md).
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/aot/link_image.h"
#include "mlir_lowering/target/cpu/cpu.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace ltc::compiler {

namespace {

class AotBackend final : public CpuBackend {
public:
  Target resolve(Target target) const override {
    if (target.triple.empty())
      target.triple = llvm::sys::getProcessTriple();
    llvm::SmallVector<llvm::StringRef, 64> features;
    if (target.features.empty() &&
        llvm::X86::parseArchX86(target.cpu, /*Only64Bit=*/true) !=
            llvm::X86::CK_None)
      llvm::X86::getFeaturesForCPU(target.cpu, features);
    llvm::sort(features);
    for (llvm::StringRef feature : features)
      target.features += (target.features.empty() ? "+" : ",+") + feature.str();
    return target;
  }

  llvm::StringRef codeKind() const override { return "image"; }

  Result<std::string>
  emitCode(mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
           const std::function<void(const llvm::Module &)> &optimized)
      const override {
    Result<std::string> object =
        CpuBackend::emitCode(part, target, facts, optimized);
    return object ? linkImage(*object) : std::move(object);
  }
};

} // namespace

namespace targets {
const TargetBackend &aot() {
  static const AotBackend backend;
  return backend;
}
} // namespace targets

} // namespace ltc::compiler
