//===- stages.h - From graph to artifact, stage by stage --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What libltc_compiler.so does behind compiler.h, and what ltc-opt shows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir_lowering/optimize/optimize.h"

namespace ltc::compiler {

/// Every dialect and interface that the stages need. A context made from this
/// registry must load all of them: loadAllAvailableDialects().
void registerStages(mlir::DialectRegistry &registry);

/// Options whose target says all of it, with what its backend says of it.
struct ResolvedOptions : CompileOptions {
  explicit ResolvedOptions(const CompileOptions &options)
      : CompileOptions(options) {}

  const TargetBackend *backend = nullptr;
  Tuning tuning;
  llvm::raw_ostream *schedules = nullptr; ///< receives each kernel's
};
/// An error where there is no such target, or a recipe is wrong.
Result<ResolvedOptions> resolve(const CompileOptions &options);
/// What optimize() is told of them.
OptimizeOptions optimizeOptions(const ResolvedOptions &options);

/// Runs the stages after import, up to `last` (Lower, Optimize or Codegen), on
/// a module with a function @main; lowering does nothing where no ltc.op is.
/// Codegen leaves the module in the LLVM dialect. `artifact` receives what
/// codegen learns, without the object code; may be null.
Status runStages(mlir::ModuleOp module, Stage last,
                 const ResolvedOptions &options, Artifact *artifact = nullptr);

/// All stages, on a verified graph.
Result<Artifact> compileGraph(const Graph &graph,
                              const CompileOptions &options);

/// Hash of everything in this library that decides what code comes out.
std::string compilerIdentity();

} // namespace ltc::compiler
