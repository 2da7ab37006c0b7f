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
/// On a kernel: how many calls one launch is for, at most; none: one.
inline constexpr llvm::StringLiteral kBatch = "ltc.batch";
/// On a kernel of which no more than a warp shares an iteration: its threads,
/// which barriers and shuffles are for.
inline constexpr llvm::StringLiteral kTeam = "ltc.team";
/// On a kernel: iterations of its parallel loop.
inline constexpr llvm::StringLiteral kIterations = "ltc.iterations";
/// On a call of @main: it belongs to the launch of the call in front of it.
inline constexpr llvm::StringLiteral kJoins = "ltc.joins";
} // namespace attr

/// Has calls of @main to one kernel stand side by side where they are to become
/// one launch, on a target with blocks of threads. Needs the checks.
void batchLaunches(mlir::ModuleOp module, Artifact &artifact);
/// Gives each kernel the form void(i64 begin, i64 end, ptr words). Addresses of
/// which all calls know that they are aligned say so, where buffers begin at
/// multiples of `bufferAlignment` bytes.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module, int64_t bufferAlignment,
                                 Artifact &artifact);
/// Turns @main, and deletes it, into steps of `artifact`, with the kernels, the
/// calls and the arena that they name; needs lowerKernels().
mlir::LogicalResult listSteps(mlir::ModuleOp module, const TargetFacts &facts,
                              Artifact &artifact);
/// Turns each check into a comparison and a cold call; numbers the sites
/// afresh and describes them through `describe(node)`.
void lowerChecks(mlir::ModuleOp module, std::vector<Artifact::ErrorSite> &sites,
                 const std::function<Artifact::ErrorSite(int64_t)> &describe);

} // namespace ltc::compiler
