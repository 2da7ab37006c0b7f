//===- nvptx.h - Code for NVIDIA GPUs ---------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/target/target_backend.h"

namespace llvm {
class LLVMContext;
class TargetMachine;
} // namespace llvm

namespace ltc::compiler {

/// An iteration of a kernel's parallel loop is a block of threads, which share
/// each op's work. Temporaries of a tile lie in the memory that a block shares.
class NvptxBackend : public TargetBackend {
public:
  Target resolve(Target target) const override;
  Tuning tuning(const Target &target) const override;
  int64_t bufferAlignment() const override { return 64; } // plugin.h's
  mlir::LogicalResult schedule(mlir::func::FuncOp kernel,
                               const Schedule &schedule) const override;
  mlir::LogicalResult emitLoops(mlir::func::FuncOp kernel,
                                const Schedule &schedule,
                                const TargetFacts &facts) const override;
  mlir::LogicalResult lower(mlir::ModuleOp part,
                            const TargetFacts &facts) const override;
  llvm::StringRef codeKind() const override { return "ptx"; }
  Result<std::string>
  emitCode(mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
           const std::function<void(const llvm::Module &)> &optimized)
      const override;
};

/// On LLVM's functions, which are kernels: how many threads a block has, and
/// how many words it takes.
inline constexpr llvm::StringLiteral kThreadsNote = "ltc-threads";
inline constexpr llvm::StringLiteral kWordsNote = "ltc-words";
/// How many bytes each of its arguments has, if that is known.
inline constexpr llvm::StringLiteral kBytesNote = "ltc-bytes";

/// Threads that run in step, and may shuffle.
inline constexpr int64_t kWarp = 32;

/// Takes the ops of the gpu dialect, and memory that a block shares, to what
/// LLVM has for them.
mlir::LogicalResult lowerGpuOps(mlir::ModuleOp part);

/// The same of those ops of the nvgpu dialect that products are made of.
void lowerMatrixOps(mlir::ModuleOp part);

/// LLVM's optimised module for the GPU: each kernel is an entry that is given
/// its words by value, and does the iteration that is its block's number.
Result<std::unique_ptr<llvm::Module>> deviceModule(mlir::ModuleOp part,
                                                   llvm::TargetMachine &machine,
                                                   llvm::LLVMContext &context);
/// LLVM's for that GPU.
Result<std::unique_ptr<llvm::TargetMachine>>
deviceMachine(const Target &target);

} // namespace ltc::compiler
