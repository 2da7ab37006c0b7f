//===- join_parts.cpp - Concatenations of many parts ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part that is only copied is a kernel of its own, which takes 6 ms to
// compile and differs from the next one in where it writes. Of many such parts
// one library call is made: DenseNet-121 has 520.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/optimize/concat.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace ltc::compiler {

/// Whether a part is in memory in one piece, whatever becomes of the whole.
static bool isCopied(tensor::InsertSliceOp part) {
  Value source = part.getSource();
  Operation *op = source.getDefiningOp();
  if (!op)
    return true;
  if (isa<linalg::GenericOp>(op))
    return !source.hasOneUse();
  return !isa<tensor::ExtractSliceOp, tensor::EmptyOp, arith::ConstantOp>(op);
}

/// Whether most of the elements, in many parts, are copied.
static bool pays(const Concat &concat, size_t manyParts) {
  size_t copies = 0;
  int64_t copied = 0, computed = 0;
  for (tensor::InsertSliceOp part : concat.parts) {
    if (!part.getSourceType().hasStaticShape())
      return false;
    bool isCopy = isCopied(part);
    copies += isCopy;
    (isCopy ? copied : computed) += part.getSourceType().getNumElements();
  }
  tensor::InsertSliceOp first = concat.parts[0];
  return impliedDType(first.getDestType().getElementType()) &&
         copies > manyParts && copied >= computed;
}

static void join(const Concat &concat) {
  tensor::InsertSliceOp last = concat.parts.back();
  OpBuilder b(last);
  RankedTensorType type = last.getDestType();
  auto dtype = int8_t(*impliedDType(type.getElementType()));
  SmallVector<Value> parts;
  for (tensor::InsertSliceOp part : concat.parts)
    parts.push_back(part.getSource());
  SmallVector<bool> present(parts.size(), true);
  SmallVector<int8_t> dtypes(parts.size(), dtype);
  Value whole = tensor::EmptyOp::create(b, last.getLoc(), type.getShape(),
                                        type.getElementType());
  auto call = CallOp::create(
      b, last.getLoc(), type, b.getStringAttr("aten::cat"),
      b.getStrArrayAttr({"tensors", "dim"}),
      b.getArrayAttr({OperandListAttr::get(b.getContext(), present),
                      b.getI64IntegerAttr(concat.dim)}),
      b.getDenseI8ArrayAttr(dtypes), b.getDenseI8ArrayAttr({dtype}),
      /*node=*/IntegerAttr(), /*permutations=*/ArrayAttr(), parts, whole);
  last.replaceAllUsesWith(call->getResult(0));
  for (tensor::InsertSliceOp part : llvm::reverse(concat.parts))
    part.erase();
}

LogicalResult joinParts(func::FuncOp main, const OptimizeOptions &options) {
  auto manyParts = size_t(options.tuning.facts.concat_parts);
  SmallVector<Concat> joined;
  for (auto insert : main.getOps<tensor::InsertSliceOp>())
    if (auto concat = concatOf(insert); concat && pays(*concat, manyParts))
      joined.push_back(std::move(*concat));
  for (const Concat &concat : joined)
    join(concat);
  return success();
}

} // namespace ltc::compiler
