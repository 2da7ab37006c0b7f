//===- linalg.h - A graph for compilers that are not ours -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/hand-over.md describes: MLIR of upstream's dialects alone, on
// tensors, before anything is fused or scheduled. What the lower stage makes
// for ourselves differs in three things: products are linalg's named ops, ops
// without a row or with checks of values are calls of functions that the module
// declares, and no attribute is of a dialect of ours.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

namespace ltc::compiler {

/// Lowers a module that importGraph() made. Fails with a diagnostic.
mlir::LogicalResult lowerForHandOver(mlir::ModuleOp module);

/// Makes the op a call of a function that says in its attributes what it is.
/// `number` is part of the name.
void lowerToWholeCall(OpOp op, unsigned number);

/// Computes symbolic sizes of @main from its arguments' dimensions. Fails with
/// a diagnostic where a symbol is none.
mlir::LogicalResult lowerOpenSizes(mlir::func::FuncOp main);
/// A size or a list of such, in which symbolic ones are texts; of any other
/// attribute itself.
mlir::Attribute sizeTexts(mlir::Builder b, mlir::Attribute sizes);

/// The op that says where a tensor's parts are, which lowerToShard() makes
/// ops of upstream's dialect `shard`.
constexpr llvm::StringLiteral kShard = "torch_ltc::shard";
void lowerToShard(OpOp op);

/// The graph in any form.
Result<std::string> lowerGraph(const Graph &graph, LoweredForm form);

} // namespace ltc::compiler
