//===- products.cpp - Ops that are a product and a sum ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"
#include "mlir_lowering/lower/product.h"

namespace ltc::compiler {

/// beta self + alpha product; what beta 0 leaves out may be a NaN.
static Value added(Emit &e, const OpCall &op, Value product) {
  DType dtype = product.dtype();
  if (Value alpha = op["alpha"])
    product = e.mul(product, alpha);
  Value beta = op["beta"];
  if (!beta)
    beta = 1;
  if (beta.isLiteral() && beta.asReal() == 0)
    return e.narrow(product, op.result());
  Value self = e.mul(e.cast(op["self"], dtype), beta);
  return e.narrow(e.add(self, product), op.result());
}

static Value addmv(Emit &e, const OpCall &op) {
  Value product = namedProduct(e, op["mat"], op["vec"], op.result().sizes,
                               op.result().dtype);
  return added(e, op, product);
}

static Value addbmm(Emit &e, const OpCall &op) {
  Value left = op["batch1"], right = op["batch2"];
  Value products =
      namedProduct(e, left, right, {left.size(0), left.size(1), right.size(2)},
                   op.result().dtype);
  return added(e, op, e.reduceSum(products, {0}, /*keepdim=*/false));
}

static Value addr(Emit &e, const OpCall &op) {
  DType dtype = sumDType(op.result().dtype);
  Value left = e.cast(op["vec1"], dtype), right = e.cast(op["vec2"], dtype);
  return added(e, op, e.mul(e.unsqueeze(left, {1}), e.unsqueeze(right, {0})));
}

static Value vdot(Emit &e, const OpCall &op) {
  return e.narrow(
      namedProduct(e, op["self"], op["other"], {}, op.result().dtype),
      op.result());
}

void addProductDecompositions(OpTable &t) {
  t.structured("aten::addmv", addmv);
  t.structured("aten::addbmm", addbmm);
  t.structured("aten::addr", addr);
  t.structured("aten::vdot", vdot);
}

} // namespace ltc::compiler
