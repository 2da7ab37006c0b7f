//===- user_lowering.h - Lowerings that a program brings --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ltc::compiler {

class OpOp;

/// The argument of an ltc.op that holds its lowering: a module's text with one
/// function, from the op's operands to its results.
inline constexpr llvm::StringLiteral kUserLowering = "lowering";

/// The text, or empty.
llvm::StringRef userLowering(OpOp op);

/// Puts the function's body in front of the op; its results are the op's. Fails
/// with a diagnostic at the op.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
inlineUserLowering(mlir::ImplicitLocOpBuilder &b, OpOp op);

} // namespace ltc::compiler
