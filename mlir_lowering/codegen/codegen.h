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
