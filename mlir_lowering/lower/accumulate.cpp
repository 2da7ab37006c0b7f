//===- accumulate.cpp - A sum with a product is one call --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/accumulate.h"

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ltc::compiler {

/// Whether `add` is a plain sum of two tensors of its own type.
static bool isPlainSum(OpOp add) {
  if (add.getCallee() != "aten::add.Tensor" || add.getInputs().size() != 2)
    return false;
  Type type = add.getResult(0).getType();
  Type element = cast<RankedTensorType>(type).getElementType();
  auto alpha = dyn_cast<IntegerAttr>(add.getValues().getValue().back());
  return alpha && alpha.getInt() == 1 && (element.isF32() || element.isF64()) &&
         llvm::all_equal(llvm::concat<const Type>(add.getInputs().getTypes(),
                                                  ArrayRef<Type>(type))) &&
         llvm::all_of(add.getInputs(), [&](Value input) {
           return sizesOf(input) == sizesOf(add.getResult(0));
         });
}

static OpOp productOnlyFor(OpOp add, unsigned input) {
  auto product = add.getInputs()[input].getDefiningOp<OpOp>();
  bool fits = product && product.getCallee() == "aten::mm" &&
              product->hasOneUse() && add.getInputs()[1 - input].hasOneUse();
  return fits ? product : OpOp();
}

static void replace(OpOp add, unsigned input, OpOp product) {
  OpBuilder b(add);
  Attribute operand = product.getValues()[0];
  auto one = b.getI64IntegerAttr(1);
  SmallVector<Value> inputs{add.getInputs()[1 - input]};
  llvm::append_range(inputs, product.getInputs());
  SmallVector<int8_t> dtypes{add.getOperandDtypes()[1 - input]};
  llvm::append_range(dtypes, product.getOperandDtypes());
  auto both = OpOp::create(
      b, product.getLoc(), add.getResultTypes(), b.getStringAttr("aten::addmm"),
      b.getStrArrayAttr({"self", "mat1", "mat2", "beta", "alpha"}),
      b.getArrayAttr({operand, operand, operand, one, one}),
      b.getDenseI8ArrayAttr(dtypes), add.getResultDtypesAttr(),
      product.getNodeAttr(), inputs);
  both->setDiscardableAttrs(add->getDiscardableAttrDictionary());
  add->replaceAllUsesWith(both);
  add->erase();
  product->erase();
}

/// Autograd leaves two transposes around the gradient of a layer's weight.
static void cancelTransposes(Operation *root) {
  SmallVector<OpOp> transposes;
  root->walk([&](OpOp op) {
    if (op.getCallee() == "aten::t_copy")
      transposes.push_back(op);
  });
  for (OpOp outer : transposes) {
    auto inner = outer.getInputs()[0].getDefiningOp<OpOp>();
    if (!inner || inner.getCallee() != "aten::t_copy")
      continue;
    outer.getResult(0).replaceAllUsesWith(inner.getInputs()[0]);
    outer->erase();
    if (inner->use_empty()) // met before, so nobody comes back to it
      inner->erase();
  }
}

/// A view with other sizes, on behalf of `product`.
static Value viewed(OpBuilder &b, OpOp product, Value value, int8_t dtype,
                    ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType()).clone(sizes);
  return OpOp::create(b, product.getLoc(), TypeRange(type),
                      b.getStringAttr("aten::view_copy"),
                      b.getStrArrayAttr({"self", "size"}),
                      b.getArrayAttr({product.getValues()[0],
                                      b.getDenseI64ArrayAttr(sizes)}),
                      b.getDenseI8ArrayAttr({dtype}),
                      b.getDenseI8ArrayAttr({dtype}), product.getNodeAttr(),
                      ValueRange(value))
      .getResult(0);
}

/// A matrix that is the same for all of a batch, if the factor is one.
static Value sameForAll(Value factor) {
  auto expanded = factor.getDefiningOp<OpOp>();
  if (!expanded || expanded.getCallee() != "aten::expand_copy")
    return {};
  Value matrix = expanded.getInputs()[0];
  auto type = cast<RankedTensorType>(matrix.getType());
  return type.getRank() == 2 &&
                 type.getShape() == cast<RankedTensorType>(factor.getType())
                                        .getShape()
                                        .drop_front()
             ? matrix
             : Value();
}

/// A batch times one matrix is one product of all its rows, as PyTorch has it
/// unless a view is in the way: else the matrix would be copied for each.
static void joinRows(Operation *root) {
  SmallVector<OpOp> products;
  root->walk([&](OpOp op) {
    if (op.getCallee() == "aten::bmm")
      products.push_back(op);
  });
  for (OpOp product : products) {
    Value left = product.getInputs()[0];
    Value matrix = sameForAll(product.getInputs()[1]);
    auto from = cast<RankedTensorType>(left.getType()),
         to = cast<RankedTensorType>(product.getResult(0).getType());
    if (!matrix || !from.hasStaticShape() || !to.hasStaticShape())
      continue;
    OpBuilder b(product);
    int64_t rows = from.getDimSize(0) * from.getDimSize(1);
    int8_t dtype = product.getOperandDtypes()[0];
    Value all = viewed(b, product, left, dtype, {rows, from.getDimSize(2)});
    auto one = OpOp::create(
        b, product.getLoc(), TypeRange(to.clone({rows, to.getDimSize(2)})),
        b.getStringAttr("aten::mm"), product.getNamesAttr(),
        product.getValuesAttr(), product.getOperandDtypesAttr(),
        product.getResultDtypesAttr(), product.getNodeAttr(),
        ValueRange({all, matrix}));
    Value result = viewed(b, product, one.getResult(0), dtype, to.getShape());
    product.getResult(0).replaceAllUsesWith(result);
    product->erase();
  }
}

void accumulateProducts(Operation *root) {
  joinRows(root);
  cancelTransposes(root);
  SmallVector<OpOp> sums;
  root->walk([&](OpOp op) {
    if (isPlainSum(op))
      sums.push_back(op);
  });
  for (OpOp add : sums)
    for (unsigned input : {1, 0})
      if (OpOp product = productOnlyFor(add, input)) {
        replace(add, input, product);
        break;
      }
}

} // namespace ltc::compiler
