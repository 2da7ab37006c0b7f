//===- codegen.h - Kernels on memrefs to object code ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The codegen stage, step by step. What comes in is what optimize() leaves;
// what goes out is an object whose entry point artifact.h describes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "ltc/target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace ltc::compiler {

/// Symbol of the entry point.
inline constexpr llvm::StringLiteral kEntry = "ltc_entry";

/// Fills in what a target leaves open with the host's own.
Target resolveTarget(Target target);
/// Bits of the widest vector registers that code for the target should use.
unsigned vectorBitsOf(const Target &target);

/// Gives each kernel the form void(i64 begin, i64 end, ptr words).
mlir::LogicalResult lowerKernels(mlir::ModuleOp module);
/// Turns @main into the entry point. Adds to `artifact` the library calls and
/// the number of kernels; needs lowerKernels().
mlir::LogicalResult lowerMain(mlir::ModuleOp module, Artifact &artifact);
/// Turns each check into a comparison and a cold call; numbers the sites
/// afresh and describes them through `describe(node)`.
void lowerChecks(mlir::ModuleOp module, std::vector<Artifact::ErrorSite> &sites,
                 const std::function<Artifact::ErrorSite(int64_t)> &describe);
/// Replaces functions of the math dialect by polynomials where these are as
/// good as the C library's. `vectorBits` is vectorBitsOf() the target.
mlir::LogicalResult approximateMath(mlir::ModuleOp module, unsigned vectorBits);
/// Everything that is left, into the LLVM dialect.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module, unsigned vectorBits);

/// LLVM's own part: optimises `module` and returns the object file, of which
/// private functions are no part. `optimized` sees the module in between.
Result<std::string>
emitObject(mlir::ModuleOp module, const Target &target,
           const std::function<void(const llvm::Module &)> &optimized);

} // namespace ltc::compiler
