//===- whole_ops.cpp - ATen ops that a dialect says at once -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"

namespace ltc::compiler {

mlir::Value number(TensorDialect &d, Value literal, mlir::Type element) {
  mlir::Builder b(element.getContext());
  if (mlir::isa<mlir::FloatType>(element))
    return d.splat(b.getFloatAttr(element, literal.asReal()), {});
  unsigned width = element.getIntOrFloatBitWidth();
  return d.splat(
      b.getIntegerAttr(element, llvm::APInt(width, literal.asInteger(),
                                            /*isSigned=*/true,
                                            /*implicitTrunc=*/true)),
      {});
}

static const WholeOp *findRow(llvm::StringRef op) {
  for (llvm::ArrayRef<WholeOp> family :
       {convolutionOps(), scatterOps(), orderOps()})
    for (const WholeOp &row : family)
      if (row.op == op)
        return &row;
  return nullptr;
}

WholeLowering findWholeOp(llvm::StringRef op) {
  const WholeOp *row = findRow(op);
  return row ? row->lower : nullptr;
}

bool checksValues(llvm::StringRef op) {
  const WholeOp *row = findRow(op);
  return row && row->checks;
}

std::vector<llvm::StringRef> wholeOps() {
  std::vector<llvm::StringRef> names;
  for (llvm::ArrayRef<WholeOp> family :
       {convolutionOps(), scatterOps(), orderOps()})
    for (const WholeOp &row : family)
      names.push_back(row.op);
  llvm::sort(names);
  return names;
}

const OpTable &decompositions() {
  static const OpTable table = [] {
    OpTable t;
    addAttentionDecompositions(t);
    addProductDecompositions(t);
    return t;
  }();
  return table;
}

} // namespace ltc::compiler
