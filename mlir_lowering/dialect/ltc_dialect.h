//===- ltc_dialect.h - The ltc dialect --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ltc.op, ltc.call and the checks; ltc_ops.td says what they mean.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir_lowering/dialect/size_table.h"

namespace ltc::compiler {
/// The device's note that a launch has failed.
struct ReportResource : mlir::SideEffects::Resource::Base<ReportResource> {
  llvm::StringRef getName() final { return "ltc.report"; }
};
} // namespace ltc::compiler

#include "mlir_lowering/dialect/ltc_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "mlir_lowering/dialect/ltc_attributes.h.inc"
#define GET_OP_CLASSES
#include "mlir_lowering/dialect/ltc_ops.h.inc"

namespace ltc::compiler {

/// Adds the dialect, and the model by which ltc.call is bufferized.
void registerLtcDialect(mlir::DialectRegistry &registry);

/// One schema argument of an ltc.op or ltc.call.
struct OpArgument {
  llvm::StringRef name;
  mlir::Attribute value; ///< as `values` of the op holds it
  unsigned first = 0;    ///< its first operand, if it has operands
};
/// The arguments of a node in schema order.
llvm::SmallVector<OpArgument> argumentsOf(mlir::ArrayAttr names,
                                          mlir::ArrayAttr values);
template <typename NodeOp>
llvm::SmallVector<OpArgument> argumentsOf(NodeOp op) {
  return argumentsOf(op.getNames(), op.getValues());
}

} // namespace ltc::compiler
