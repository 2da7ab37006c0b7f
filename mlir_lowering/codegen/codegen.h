//===- codegen.h - Kernels on memrefs to object code ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The codegen stage up to where a target takes over (TargetBackend::lower).
// What comes in is what optimize() leaves; what goes out are the steps of
// @main, as data, and its kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir_lowering/target/tuning.h"

#include <functional>

namespace ltc::compiler {

namespace attr {
/// On a kernel of which no more than a warp shares an iteration: its threads,
/// which barriers and shuffles are for.
inline constexpr llvm::StringLiteral kTeam = "ltc.team";
/// On a kernel: iterations of its parallel loop.
inline constexpr llvm::StringLiteral kIterations = "ltc.iterations";
/// On a kernel of threads: how many bytes each argument has, 0 of a number.
inline constexpr llvm::StringLiteral kBytes = "ltc.bytes";
/// On a call of @main: it belongs to the launch of the call in front of it.
inline constexpr llvm::StringLiteral kJoins = "ltc.joins";
/// On a call that others join: the kernel that does all of them.
inline constexpr llvm::StringLiteral kLaunch = "ltc.launch";
} // namespace attr

/// Has calls of @main stand side by side where they are to become one launch,
/// on a target with blocks of threads: those of a kernel, and of kernels
/// whose threads do not wait for each other. Needs the checks.
void batchLaunches(mlir::ModuleOp module, Artifact &artifact);
/// Gives each kernel the form void(i64 begin, i64 end, ptr words). Addresses of
/// which all calls know that they are aligned say so, where buffers begin at
/// multiples of `bufferAlignment` bytes.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module, int64_t bufferAlignment,
                                 Artifact &artifact);
/// Makes a kernel for each such launch, and deletes those that no launch has
/// for itself; needs lowerKernels().
void joinKernels(mlir::ModuleOp module);
/// Turns @main, and deletes it, into steps of `artifact`, with the kernels, the
/// calls and the arena that they name; needs lowerKernels().
mlir::LogicalResult listSteps(mlir::ModuleOp module, const TargetFacts &facts,
                              Artifact &artifact);
/// Turns each check into a comparison and a cold call; numbers the sites
/// afresh and describes them through `describe(node)`.
void lowerChecks(mlir::ModuleOp module, std::vector<Artifact::ErrorSite> &sites,
                 const std::function<Artifact::ErrorSite(int64_t)> &describe);

} // namespace ltc::compiler
