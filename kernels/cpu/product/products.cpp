//===- products.cpp - mm, bmm and what is added to a product --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "product/gemm.h"
#include "product/plain_product.h"
#include "rows.h"

namespace ltc::kernels {
namespace {

MatrixView matrix(const TensorView &t) {
  return {t.as<float>(), t.size(0), t.size(1), t.stride(0), t.stride(1)};
}

/// What is added, as if it had `like`'s shape.
MatrixView expanded(const TensorView &t, const TensorView &like) {
  auto step = [&](int64_t dim) { // of the last two
    return t.rank < -dim || t.size(dim) == 1 ? 0 : t.stride(dim);
  };
  return {t.as<float>(), like.size(0), like.size(1), step(-2), step(-1)};
}

bool areFloats(std::initializer_list<TensorView> tensors) {
  for (const TensorView &t : tensors)
    if (t.isDefined() && t.dtype != DType::F32)
      return false;
  return true;
}

/// One or a batch of them, and what is added to it or not.
class Product final : public OwnKernel {
public:
  Product(Operand left, Operand right) : left(left), right(right) {}
  Product(Operand left, Operand right, Operand addend, Number beta,
          Number alpha)
      : left(left), right(right), addend(addend), beta(beta), alpha(alpha) {}

  bool run(Views operands, Views results) override {
    TensorView a = left.in(operands), b = right.in(operands),
               added = addend.in(operands), c = results[0];
    if (c.rank != 2 || !areFloats({a, b, added, c}) || c.stride(1) != 1 ||
        c.stride(0) < c.size(1) || beta.in(operands) != 1 ||
        alpha.in(operands) != 1 || !gemmPays(matrix(a), matrix(b)))
      return false;
    gemm(matrix(a), matrix(b),
         added.isDefined() ? expanded(added, c) : MatrixView{},
         {c.as<float>(), c.stride(0)});
    return true;
  }

  Result<bool> runPlainly(Views operands, Views results) override {
    return plainProduct({left.in(operands), right.in(operands),
                         addend.in(operands), beta.in(operands),
                         alpha.in(operands)},
                        results[0]);
  }

private:
  const Operand left, right, addend{};
  const Number beta{1}, alpha{1};
};

} // namespace

std::unique_ptr<OwnKernel> bindMm(const Graph &call) {
  Arguments of(call);
  return std::make_unique<Product>(of.tensor("self"), of.tensor("mat2"));
}

std::unique_ptr<OwnKernel> bindAddmm(const Graph &call) {
  Arguments of(call);
  bool isBatch = of.isGiven("batch1");
  return std::make_unique<Product>(of.tensor(isBatch ? "batch1" : "mat1"),
                                   of.tensor(isBatch ? "batch2" : "mat2"),
                                   of.tensor("self"), of.number("beta", 1),
                                   of.number("alpha", 1));
}

} // namespace ltc::kernels
