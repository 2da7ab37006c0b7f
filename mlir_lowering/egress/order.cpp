//===- order.cpp - Sorts and running sums -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"

namespace ltc::compiler {
namespace {

using mlir::Value;
using Ints = llvm::SmallVector<int64_t>;

/// Values and where they were. A scalar is sorted as it is.
Tensors sorted(TensorDialect &d, const WholeCall &call, bool descends) {
  Value x = call["self"];
  mlir::Type inner = elementOf(x);
  if (shapeOf(x).empty())
    return {x, d.integers(0, {})};
  int64_t dim = call.op.dim("dim", -1);
  Value places = d.iota(shapeOf(x), dim, d.builder().getI64Type());
  // As what it is: bytes that are truths or unsigned have another order.
  Value outer = d.leave(x, d.outerElement(inner, call.op.result().dtype));
  Tensors both = d.sort({outer, places}, dim, descends);
  if (elementOf(both[0]) != inner)
    both[0] = d.enter(both[0], inner);
  return both;
}

Tensors sort(TensorDialect &d, const WholeCall &call) {
  return sorted(d, call, call.op.flag("descending"));
}

Tensors topk(TensorDialect &d, const WholeCall &call) {
  Tensors both = sorted(d, call, call.op.flag("largest", true));
  Ints wanted = call.op.result().sizes;
  Ints zeros(wanted.size(), 0), ones(wanted.size(), 1);
  for (Value &x : both)
    if (shapeOf(x) != Extents(wanted))
      x = d.slice(x, zeros, wanted, ones);
  return both;
}

Tensors kthValue(TensorDialect &d, const WholeCall &call) {
  Tensors both = sorted(d, call, false);
  Extents whole = shapeOf(both[0]);
  if (whole.empty())
    return both;
  Ints starts(whole.size(), 0), ones(whole.size(), 1), sizes(whole);
  int64_t dim = call.op.dim("dim", -1);
  starts[dim] = call.op.integer("k") - 1;
  sizes[dim] = 1;
  for (Value &x : both)
    x = d.reshape(d.slice(x, starts, sizes, ones), call.op.result().sizes);
  return both;
}

/// In single precision for 16-bit floats; of integers in the result's type.
Tensors scan(TensorDialect &d, const WholeCall &call) {
  Value x = call["self"];
  ResultType to = call.op.result();
  mlir::Type element = to.type.getElementType(), wide = element;
  bool isFloat = mlir::isa<mlir::FloatType>(element);
  if (isFloat && element.getIntOrFloatBitWidth() < 32)
    wide = d.builder().getF32Type();
  DType from = call.op["self"].dtype();
  bool isUnsigned = from == DType::Bool || from == DType::U8;
  if (isUnsigned && elementOf(x) != element)
    x = d.leave(x, d.outerElement(elementOf(x), from));
  x = d.convert(x, wide);
  if (shapeOf(x).empty())
    return {d.convert(x, element)};
  bool isSum = call.op.op == "aten::cumsum";
  llvm::StringRef op = isSum     ? (isFloat ? "arith.addf" : "arith.addi")
                       : isFloat ? "arith.mulf"
                                 : "arith.muli";
  Value start = number(d, isSum ? ltc::compiler::Value(0) : 1, wide);
  return {d.convert(d.scan(x, call.op.dim("dim"), op, start), element)};
}

constexpr WholeOp kOps[] = {
    {"aten::sort", sort},   {"aten::sort.stable", sort},
    {"aten::topk", topk},   {"aten::kthvalue", kthValue},
    {"aten::cumsum", scan}, {"aten::cumprod", scan},
};

} // namespace

llvm::ArrayRef<WholeOp> orderOps() { return kOps; }

} // namespace ltc::compiler
