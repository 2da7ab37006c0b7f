//===- import.h - ltc::Graph to and from the ltc dialect --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace ltc::compiler {

class CallOp;

/// A module with one function @main: an argument for each input, a result for
/// each output, an ltc.op for each node. `graph` must have passed verify();
/// the dialects it needs are loaded into the context.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(const Graph &graph,
                                              mlir::MLIRContext &context);

/// The one-node graph that a library kernel is found by (Artifact::calls): its
/// inputs are the call's, as the kernel sees them, its outputs all results.
Graph exportCall(CallOp call);

/// The user's place behind a location, empty when there is none.
Source sourceAt(mlir::Location location);

} // namespace ltc::compiler
