//===- product.cpp - Products as loops --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is a call of the library, but where that is no faster, or where
// there is none: the fact product_work says up to which size it is a loop, and
// matrix_work up to which size one that units for matrices compute.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {
namespace {

struct Product {
  llvm::StringRef op, left, right; ///< its name and its factors'
};

constexpr Product kProducts[] = {
    {"aten::mm", "self", "mat2"},    {"aten::bmm", "self", "mat2"},
    {"aten::addmm", "mat1", "mat2"}, {"aten::baddbmm", "batch1", "batch2"},
    {"aten::mv", "self", "vec"},     {"aten::dot", "self", "tensor"},
};

/// How many numbers are multiplied.
int64_t pointsOf(Value left, Value right) {
  int64_t points = right.rank() > 1 ? right.sizes().back() : 1;
  for (int64_t size : left.sizes())
    points *= size;
  return points;
}

/// The sum along the last dimension of `left` and the last but one of `right`,
/// or its only one.
Value multiply(Emit &e, Value left, Value right, DType dtype) {
  int64_t rank = left.rank();
  if (right.rank() > 1) { // [.., i, k, 1] and [.., 1, k, j]
    left = e.unsqueeze(left, {rank});
    right = e.unsqueeze(right, {rank - 2});
  }
  return e.reduce({left, right}, {rank - 1}, /*keepdim=*/false, {{dtype, 0}},
                  [&](Scalar s, llvm::ArrayRef<Value> factors,
                      llvm::ArrayRef<Value> sum) -> Values {
                    return {s.add(sum[0], s.mul(s.cast(factors[0], dtype),
                                                s.cast(factors[1], dtype)))};
                  })[0];
}

bool isOurs(const Products &products, Value left, Value right, DType dtype) {
  int64_t points = pointsOf(left, right);
  bool isShort = dtype == DType::BF16 || dtype == DType::F16;
  bool areMatrices = isShort && left.rank() > 1 && right.rank() > 1 &&
                     left.dtype() == dtype && right.dtype() == dtype;
  return points <= products.mostPoints ||
         (areMatrices && points <= products.mostInMatrices &&
          left.sizes()[left.rank() - 2] <= products.mostRows);
}

bool isLiteral(Value value, double number) {
  return value.isLiteral() && value.asReal() == number;
}

} // namespace

// linalg's ops extend floats themselves.
Value namedProduct(Emit &e, Value left, Value right, Dims sizes, DType dtype) {
  mlir::ImplicitLocOpBuilder &b = e.builder();
  if (!isFloat(dtype)) {
    left = e.cast(left, sumDType(dtype));
    right = e.cast(right, sumDType(dtype));
  }
  dtype = sumDType(dtype);
  mlir::Value sum = e.empty(Shape(sizes), dtype).ir();
  mlir::Type type = mlir::cast<mlir::RankedTensorType>(sum.getType());
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  auto zero = mlir::arith::ConstantOp::create(b, b.getZeroAttr(element));
  sum = mlir::linalg::FillOp::create(b, mlir::ValueRange(zero), sum).result();
  auto make = [&]<typename Op>() {
    return Op::create(b, mlir::TypeRange(type),
                      mlir::ValueRange({left.ir(), right.ir()}),
                      mlir::ValueRange(sum))
        .getResult(0);
  };
  mlir::Value result;
  if (left.rank() == 3)
    result = make.operator()<mlir::linalg::BatchMatmulOp>();
  else if (left.rank() == 1)
    result = make.operator()<mlir::linalg::DotOp>();
  else if (right.rank() == 1)
    result = make.operator()<mlir::linalg::MatvecOp>();
  else
    result = make.operator()<mlir::linalg::MatmulOp>();
  return Value(result, dtype);
}

Value lowerProduct(Emit &e, const OpCall &op, const Products &products) {
  const Product *product = llvm::find_if(
      kProducts, [&](const Product &row) { return row.op == op.op; });
  // Of an open size, what is multiplied would need memory of unknown size.
  if ((products.mostPoints == 0 && products.mostInMatrices == 0) ||
      product == std::end(kProducts) || !hasArithmetic(op.result().dtype) ||
      (op.hasSymbolicSize() && !products.areNamed))
    return {};
  Value left = op[product->left], right = op[product->right];
  ResultType to = op.result();
  if (!products.areNamed && !isOurs(products, left, right, to.dtype))
    return {};
  DType dtype = sumDType(to.dtype);
  Value result = products.areNamed
                     ? namedProduct(e, left, right, to.sizes, to.dtype)
                     : multiply(e, left, right, dtype);
  if (Value alpha = op["alpha"]; alpha && !isLiteral(alpha, 1))
    result = e.mul(result, alpha);
  if (Value beta = op["beta"]; beta && !isLiteral(beta, 0)) {
    Value added = e.cast(op["self"], dtype);
    result = e.add(isLiteral(beta, 1) ? added : e.mul(added, beta), result);
  }
  return e.narrow(result, to);
}

} // namespace ltc::compiler
