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

void accumulateProducts(Operation *root) {
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
