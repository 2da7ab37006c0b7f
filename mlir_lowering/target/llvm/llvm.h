//===- llvm.h - From loops and vectors to what LLVM makes -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For targets whose code LLVM generates.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CodeGen.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace ltc::compiler {

/// Takes loops, memrefs and vectors to the LLVM dialect.
mlir::LogicalResult lowerToLlvm(mlir::ModuleOp module, unsigned vectorBits);

/// A module of the LLVM dialect as LLVM's own, for that machine. Private
/// functions become internal.
Result<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module,
                                                llvm::LLVMContext &context,
                                                llvm::TargetMachine &machine);

/// Of a target that LLVM has been initialised for; as a CompileFailed error
/// that it has none.
Result<std::unique_ptr<llvm::TargetMachine>> machineFor(const Target &target);
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);
/// An object file, or assembly.
Result<std::string> writeCode(llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::CodeGenFileType type);

} // namespace ltc::compiler
