//===- whole_ops.h - ATen ops that a dialect says at once -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op whose row is loops, if it has one, and that dialects of tensors have an
// op for, such as a convolution; or one that is made of such. An attention is
// made of products, as a lowering of the kind that all dialects share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// A call and what its operands have become.
class WholeCall {
public:
  WholeCall(const OpCall &op,
            llvm::function_ref<mlir::Value(mlir::Value)> become)
      : op(op), become(become) {}
  /// An operand; none where it is None.
  mlir::Value operator[](llvm::StringRef name) const {
    Value value = op[name];
    return value && !value.isLiteral() ? become(value.ir()) : mlir::Value();
  }
  mlir::Value of(Value value) const { return become(value.ir()); }

  const OpCall &op;

private:
  llvm::function_ref<mlir::Value(mlir::Value)> become;
};

/// A literal as a scalar.
mlir::Value number(TensorDialect &d, Value literal, mlir::Type element);

using WholeLowering = Tensors (*)(TensorDialect &d, const WholeCall &call);
/// Null for an op that has none.
WholeLowering findWholeOp(llvm::StringRef op);
/// Whether it is such an op, and eager raises for some values of its operands.
bool checksValues(llvm::StringRef op);
std::vector<llvm::StringRef> wholeOps();

/// Ops without a row of the compiler's, as products and rows.
const OpTable &decompositions();

// The families, one file each.
struct WholeOp {
  llvm::StringLiteral op;
  WholeLowering lower;
  bool checks = false; ///< raises for some values of its operands
};
llvm::ArrayRef<WholeOp> convolutionOps();
llvm::ArrayRef<WholeOp> scatterOps();
llvm::ArrayRef<WholeOp> orderOps();
void addAttentionDecompositions(OpTable &t);
void addProductDecompositions(OpTable &t);

} // namespace ltc::compiler
