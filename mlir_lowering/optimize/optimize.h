//===- optimize.h - linalg on tensors to kernels on buffers -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The optimize stage, step by step. A module comes in with one function @main
// on tensors; it leaves with @main on memrefs, a straight line of kernel and
// library calls on slices of one arena, and with one function for each
// distinct kernel, a parallel loop over vectors.
//
// Every step returns failure after it emitted a diagnostic. Each is a pass,
// too, that ltc-opt runs alone; which ones, and in which order, says
// optimize.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/optimizations.h"
#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ltc::compiler {

class TargetBackend;

/// What a module is optimised for.
struct OptimizeOptions {
  const TargetBackend *backend = nullptr;
  Tuning tuning;
  Optimizations optimizations;
  llvm::raw_ostream *schedules = nullptr; ///< receives each kernel's
};

/// Attributes that the steps leave for one another, besides tuning.h's.
namespace attr {
/// On an op of a kernel: the loop dimensions that all ops of it share.
inline constexpr llvm::StringLiteral kRows = "ltc.rows";
/// On an op of a kernel: for each of those, how many of its iterations are one
/// of the kernel's.
inline constexpr llvm::StringLiteral kUnits = "ltc.units";
/// On a sum of blocks of rows: how many dimensions of a result say of which,
/// and the loop through the rows of one.
inline constexpr llvm::StringLiteral kBlocks = "ltc.blocks";
/// On a kernel: pairs (argument, result) that may be one buffer.
inline constexpr llvm::StringLiteral kInPlace = "ltc.in_place";
/// On a kernel: pairs (argument, result) that must be one buffer.
inline constexpr llvm::StringLiteral kUpdates = "ltc.updates";
/// On a kernel: element-operations of one iteration of its parallel loop.
inline constexpr llvm::StringLiteral kWork = "ltc.work";
/// On a check or a library call of @main: an earlier one fails wherever it
/// does.
inline constexpr llvm::StringLiteral kRepeated = "ltc.repeated";
/// On a call or a copy of @main on memrefs: it writes to donated memory, and
/// must not run after a failure.
inline constexpr llvm::StringLiteral kWritesDonated = "ltc.writes_donated";
/// On a library call of @main on memrefs: donated memory may have been written
/// to when it fails.
inline constexpr llvm::StringLiteral kSpoils = "ltc.spoils";
/// On @main on memrefs: for each result the argument whose memory it is, or -1.
inline constexpr llvm::StringLiteral kDonated = "ltc.donated";
/// On @main on memrefs: the sizes of the parts of the arena, its last
/// arguments.
inline constexpr llvm::StringLiteral kArena = "ltc.arena";
} // namespace attr

/// A step: a function that returns failure after it emitted a diagnostic.
using Step = mlir::LogicalResult(mlir::func::FuncOp main,
                                 const OptimizeOptions &options);

/// Makes one of equal ops on tensors: CSE that knows loops by what they
/// capture.
Step mergeEqualLoops;
/// Adds tensors that are zero but for a part to that part alone.
Step sumParts;
/// Fuses elementwise producers into their consumers.
Step fuseElementwise;
/// Makes library calls of concatenations of many parts that are only copied.
Step joinParts;
/// Makes one of sums over the same elements of a tensor.
Step fuseHorizontally;
/// Cuts reductions that are long, and few, into parts that run in parallel.
Step splitReductions;
/// Marks checks and library calls that can fail only where an earlier one has
/// failed: those of the same index against the same bound.
Step markRepeatedChecks;
/// Moves every computation on tensors out of @main into kernel functions;
/// equal kernels become one function.
Step outlineKernels;
/// Makes each kernel a parallel loop over tiles, as its target wants.
Step scheduleKernels;
/// Gives every tensor of @main a place in the arena or in an argument, and
/// turns @main and the boundaries of the kernels into memrefs. Adds arguments
/// for the results that are not donated, and the arena. A result whose memory
/// would be written to before the last check is not donated any more, so that
/// a graph that fails leaves its arguments as they were.
Step planBuffers;
/// Bufferizes the inside of the kernels.
Step bufferizeKernels;
/// Turns linalg on memrefs into the target's loops.
Step emitLoops;

/// Moves elementwise ops on concatenations to the parts; whether there was one.
bool distributeOverParts(mlir::func::FuncOp main, const TargetFacts &facts);
/// Runs `visit` on each kernel that was outlined of @main, until one fails.
mlir::LogicalResult forEachKernel(
    mlir::func::FuncOp main,
    llvm::function_ref<mlir::LogicalResult(mlir::func::FuncOp)> visit);

/// All steps, in order.
mlir::LogicalResult optimize(mlir::ModuleOp module,
                             const OptimizeOptions &options);
/// Registers each step as a pass, for example `ltc-fuse`, and all of them as
/// the pipeline `ltc-optimize`.
void registerOptimizePasses(const OptimizeOptions &options);

} // namespace ltc::compiler
