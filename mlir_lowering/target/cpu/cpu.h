//===- cpu.h - Code for the host's kind of processor ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/target_backend.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace ltc::compiler {

/// Kernels are loops over vectors, which threads share out by ranges of
/// iterations; LLVM makes objects of them. Another kind of CPU may differ in
/// what it overrides.
class CpuBackend : public TargetBackend {
public:
  Target resolve(Target target) const override;
  Tuning tuning(const Target &target) const override;
  mlir::LogicalResult schedule(mlir::func::FuncOp kernel,
                               const Schedule &schedule) const override;
  mlir::LogicalResult emitLoops(mlir::func::FuncOp kernel,
                                const Schedule &schedule,
                                const TargetFacts &facts) const override;
  mlir::LogicalResult lower(mlir::ModuleOp part,
                            const TargetFacts &facts) const override;
  llvm::StringRef codeKind() const override { return "elf"; }
  Result<std::string>
  emitCode(mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
           const std::function<void(const llvm::Module &)> &optimized)
      const override;
};

/// LLVM's for the host's kind of processor.
Result<std::unique_ptr<llvm::TargetMachine>> hostMachine(const Target &target);
/// Optimises a module for it and makes an object of it.
Result<std::string>
emitObject(llvm::Module &code, llvm::TargetMachine &machine,
           unsigned vectorBits,
           const std::function<void(const llvm::Module &)> &optimized);

} // namespace ltc::compiler
