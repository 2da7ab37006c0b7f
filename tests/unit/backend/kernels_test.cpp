//===- kernels_test.cpp - ATen kernels on borrowed memory -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_call.h"

#include "ltc/metrics.h"
#include "ltc_backend/convert.h"

using namespace ltc;
using namespace ltc::backend;
using namespace ltc::backend::test;
using Tensors = std::vector<at::Tensor>;

namespace {

at::Tensor randn(at::IntArrayRef sizes) { return at::randn(sizes); }

TEST(Kernels, MatmulTakesTransposedOperandsAndWritesInPlace) {
  at::Tensor a = randn({5, 7}), b = randn({3, 7});
  at::Tensor wanted = at::mm(a, b.t());
  EXPECT_TRUE(same(runCall("aten::mm(self=%0, mat2=%1)", {a, b.t()}, {wanted}),
                   {wanted}));
}

TEST(Kernels, MatmulWritesAStridedResult) {
  at::Tensor a = randn({5, 7}), b = randn({7, 3});
  at::Tensor wanted = at::mm(a, b);
  at::Tensor strided = at::empty({3, 5}).t();
  EXPECT_TRUE(
      same(runCall("aten::mm(self=%0, mat2=%1)", {a, b}, {strided}), {wanted}));
}

TEST(Kernels, AddmmBroadcastsABias) {
  at::Tensor bias = randn({3}), a = randn({5, 7}), w = randn({3, 7});
  at::Tensor wanted = at::addmm(bias, a, w.t());
  EXPECT_TRUE(same(runCall("aten::addmm(self=%0, mat1=%1, mat2=%2, beta=1, "
                           "alpha=1)",
                           {bias, a, w.t()}, {wanted}),
                   {wanted}));
}

TEST(Kernels, AddmmTakesScalarsAtRunTime) {
  at::Tensor c = randn({5, 3}), a = randn({5, 7}), b = randn({7, 3});
  std::string call = "aten::addmm(self=%0, mat1=%1, mat2=%2, beta=%3, "
                     "alpha=%4)";
  KernelCall kernel(call, {c, a, b, 0.5, 2.0}, {c});
  ASSERT_TRUE(kernel.run());
  EXPECT_TRUE(same(kernel.results[0], at::addmm(c, a, b, 0.5, 2.0)));
  ASSERT_TRUE(kernel.run({c, a, b, 3.0, -1.0}));
  EXPECT_TRUE(same(kernel.results[0], at::addmm(c, a, b, 3.0, -1.0)));
}

TEST(Kernels, BatchedMatmuls) {
  at::Tensor a = randn({2, 5, 7}), b = randn({2, 3, 7}).transpose(1, 2),
             c = randn({2, 5, 3});
  at::Tensor product = at::bmm(a, b);
  EXPECT_TRUE(same(runCall("aten::bmm(self=%0, mat2=%1)", {a, b}, {product}),
                   {product}));
  at::Tensor sum = at::baddbmm(c, a, b, 1, 0.5);
  EXPECT_TRUE(same(
      runCall("aten::baddbmm(self=%0, batch1=%1, batch2=%2, beta=1, alpha=0.5)",
              {c, a, b}, {sum}),
      {sum}));
}

const char *convolution =
    "aten::convolution(input=%0, weight=%1, bias=%2, stride=[1, 1], "
    "padding=[1, 1], dilation=[1, 1], transposed=false, "
    "output_padding=[0, 0], groups=1)";

TEST(Kernels, Convolution) {
  at::Tensor x = randn({2, 3, 8, 8}), w = randn({4, 3, 3, 3}), b = randn({4});
  at::Tensor wanted = at::conv2d(x, w, b, 1, 1);
  EXPECT_TRUE(same(runCall(convolution, {x, w, b}, {wanted}), {wanted}));
}

std::string convolutionBackward(const std::string &mask) {
  return "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
         "bias_sizes=[4], stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
         "transposed=false, output_padding=[0, 0], groups=1, output_mask=" +
         mask + ")";
}

TEST(Kernels, ConvolutionBackwardReturnsWhatItsMaskAsksFor) {
  at::Tensor x = randn({2, 3, 8, 8}), w = randn({4, 3, 3, 3}),
             g = randn({2, 4, 8, 8});
  int64_t one[] = {1, 1}, zero[] = {0, 0}, bias[] = {4};
  auto [dx, dw, db] = at::convolution_backward(
      g, x, w, bias, one, one, one, false, zero, 1, {true, true, true});
  EXPECT_TRUE(same(runCall(convolutionBackward("[true, true, true]"), {g, x, w},
                           {dx, dw, db}),
                   {dx, dw, db}));
  EXPECT_TRUE(same(
      runCall(convolutionBackward("[false, true, true]"), {g, x, w}, {dw, db}),
      {dw, db}));
  EXPECT_TRUE(same(
      runCall(convolutionBackward("[true, false, false]"), {g, x, w}, {dx}),
      {dx}));
}

TEST(Kernels, SortHasTwoResults) {
  at::Tensor x = randn({4, 9});
  auto [values, indices] = at::sort(x, 1, true);
  EXPECT_TRUE(same(runCall("aten::sort(self=%0, dim=1, descending=true)", {x},
                           {values, indices}),
                   {values, indices}));
}

TEST(Kernels, EmbeddingBag) {
  at::Tensor weight = randn({10, 3});
  at::Tensor indices = at::tensor({1, 2, 4, 5, 4, 3}, at::kLong);
  at::Tensor offsets = at::tensor({0, 4}, at::kLong);
  auto [out, bag, sizes, largest] =
      at::_embedding_bag(weight, indices, offsets, false, 0);
  EXPECT_TRUE(
      same(runCall("aten::_embedding_bag(weight=%0, indices=%1, offsets=%2, "
                   "scale_grad_by_freq=false, mode=0, sparse=false, "
                   "per_sample_weights=none, include_last_offset=false, "
                   "padding_idx=-1)",
                   {weight, indices, offsets}, {out, bag, sizes, largest}),
           {out, bag, sizes, largest}));
}

TEST(Kernels, IndexWithAnAbsentIndex) {
  at::Tensor x = randn({4, 5}), i = at::tensor({0, 3, 3}, at::kLong);
  at::Tensor wanted = x.index({at::indexing::Slice(), i});
  EXPECT_TRUE(same(runCall("aten::index.Tensor(self=%0, indices=[none, %1])",
                           {x, i}, {wanted}),
                   {wanted}));
}

TEST(Kernels, ListResults) {
  at::Tensor x = randn({7, 2});
  EXPECT_TRUE(same(runCall("aten::split.Tensor(self=%0, split_size=3, dim=0)",
                           {x}, at::split(x, 3)),
                   at::split(x, 3)));
  EXPECT_TRUE(
      same(runCall("aten::unbind.int(self=%0, dim=1)", {x}, x.unbind(1)),
           x.unbind(1)));
}

TEST(Kernels, TensorLists) {
  at::Tensor x = randn({2, 3}), y = randn({4, 3});
  at::Tensor wanted = at::cat({x, y, x});
  EXPECT_TRUE(
      same(runCall("aten::cat(tensors=[%0, %1, %0], dim=0)", {x, y}, {wanted}),
           {wanted}));
}

TEST(Kernels, ForeachTakesListsOfScalars) {
  at::Tensor x = randn({2, 3}), y = randn({4});
  Tensors wanted = {x * 2.5, y * 3};
  EXPECT_TRUE(same(
      runCall("aten::_foreach_mul.ScalarList(self=[%0, %1], scalars=[%2, %3])",
              {x, y, 2.5, int64_t(3)}, wanted),
      wanted));
}

TEST(Kernels, ScalarForATensorPromotesLikeANumber) {
  at::Tensor x = randn({3}).to(at::kHalf);
  at::Tensor wanted = x * 1.5;
  ASSERT_EQ(wanted.scalar_type(), at::kHalf);
  EXPECT_TRUE(
      same(runCall("aten::mul.Tensor(self=%0, other=%1)", {x, 1.5}, {wanted}),
           {wanted}));
}

TEST(Kernels, DtypeAttributes) {
  at::Tensor x = at::arange(6, at::kInt);
  at::Tensor wanted = at::sum(x, 0, false, at::kDouble);
  EXPECT_TRUE(same(runCall("aten::sum.dim_IntList(self=%0, dim=[0], "
                           "keepdim=false, dtype=f64)",
                           {x}, {wanted}),
                   {wanted}));
}

TEST(Kernels, FactoryTakesItsTypeFromTheResult) {
  at::Tensor wanted = at::arange(1, 7, 2, at::kDouble);
  EXPECT_TRUE(same(
      runCall("aten::arange.start_step(start=1, end=7, step=2)", {}, {wanted}),
      {wanted}));
}

TEST(Kernels, IntegerBoolAndComplexTypes) {
  for (at::ScalarType type :
       {at::kByte, at::kShort, at::kLong, at::kComplexDouble, at::kBFloat16}) {
    at::Tensor x = at::arange(6).to(type).reshape({2, 3});
    at::Tensor wanted = at::cumsum(x, 1).to(type);
    EXPECT_TRUE(same(runCall("aten::cumsum(self=%0, dim=1, dtype=" +
                                 std::string(name(*toDType(type))) + ")",
                             {x}, {wanted}),
                     {wanted}));
  }
  at::Tensor flags = at::tensor({1, 0, 1}, at::kInt).to(at::kBool);
  at::Tensor wanted = at::logical_not(flags);
  EXPECT_TRUE(
      same(runCall("aten::logical_not(self=%0)", {flags}, {wanted}), {wanted}));
}

TEST(Kernels, EmptyAndZeroDimensionalTensors) {
  at::Tensor none = at::empty({0, 4}), w = randn({4, 3});
  at::Tensor wanted = at::mm(none, w);
  EXPECT_TRUE(same(runCall("aten::mm(self=%0, mat2=%1)", {none, w}, {wanted}),
                   {wanted}));
  at::Tensor zeros = at::mm(at::empty({2, 0}), at::empty({0, 3}));
  EXPECT_TRUE(same(runCall("aten::mm(self=%0, mat2=%1)",
                           {at::empty({2, 0}), at::empty({0, 3})}, {zeros}),
                   {zeros}));
  at::Tensor number = at::scalar_tensor(2.0);
  EXPECT_TRUE(same(runCall("aten::erfinv(self=%0)", {number * 0.25},
                           {at::erfinv(number * 0.25)}),
                   {at::erfinv(number * 0.25)}));
}

TEST(Kernels, TheSameOperandTwice) {
  at::Tensor x = at::randn({4, 4}, at::kDouble);
  KernelCall kernel("aten::mm(self=%0, mat2=%0)", {x}, {x});
  for (int i = 0; i < 3; ++i) {
    x = at::randn({4, 4}, at::kDouble);
    ASSERT_TRUE(kernel.run({x}));
    EXPECT_TRUE(same(kernel.results[0], at::mm(x, x)));
  }
}

TEST(Kernels, ANumberForATensorIsAnAttribute) {
  at::Tensor x = at::arange(3, at::kInt);
  EXPECT_TRUE(
      same(runCall("aten::add.Tensor(self=%0, other=2)", {x}, {x}), {x + 2}));
}

TEST(Kernels, ResultsThatATenGrowsForAWhile) {
  at::Tensor x = randn({6}), y = randn({6}), wanted = at::mse_loss(x, y);
  KernelCall kernel("aten::mse_loss(self=%0, target=%1)", {x, y}, {wanted});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(kernel.run());
    EXPECT_TRUE(same(kernel.results[0], wanted));
  }
}

TEST(Kernels, ViewsSeeDenseValuesWhateverTheStrides) {
  at::Tensor x = randn({4, 3}).t();
  at::Tensor wanted = x.contiguous().as_strided({2, 2}, {1, 3}, 2);
  EXPECT_TRUE(same(runCall("aten::as_strided(self=%0, size=[2, 2], "
                           "stride=[1, 3], storage_offset=2)",
                           {x}, {wanted}),
                   {wanted}));
  EXPECT_TRUE(
      same(runCall("aten::view(self=%0, size=[12])", {x}, {x.reshape({12})}),
           {x.reshape({12})}));
}

/// Results of equal shape take each other's memory, and a result that is a
/// transposed view (heads == length) lies in its own in another layout.
TEST(Kernels, ResultsThatATenAllocatesInTheWrongPlace) {
  at::Tensor q = randn({2, 4, 4, 8}), k = randn({2, 4, 4, 8}),
             v = randn({2, 4, 4, 8}), g = randn({2, 4, 4, 8});
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v);
  at::Tensor dense = at::empty(out.sizes()), denseLse = at::empty(lse.sizes());
  EXPECT_TRUE(same(runCall("aten::_scaled_dot_product_flash_attention_for_cpu("
                           "query=%0, key=%1, value=%2, dropout_p=0.0)",
                           {q, k, v}, {dense, denseLse}),
                   {out, lse}));
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      g, q, k, v, out, lse, 0.0, false);
  EXPECT_TRUE(
      same(runCall("aten::_scaled_dot_product_flash_attention_for_cpu_backward("
                   "grad_out=%0, query=%1, key=%2, value=%3, out=%4, "
                   "logsumexp=%5, dropout_p=0.0, is_causal=false)",
                   {g, q, k, v, out, lse}, {dense, dense, dense}),
           {dq, dk, dv}));
}

/// linalg_lu_solve marks what it was given as conjugated, and so returns it.
TEST(Kernels, ResultsThatATenConjugatesLazily) {
  at::Tensor a = at::randn({3, 3}, at::kComplexFloat),
             b = at::randn({4, 3}, at::kComplexFloat);
  auto [lu, pivots] = at::linalg_lu_factor(a);
  at::Tensor wanted = at::linalg_lu_solve(lu, pivots, b, /*left=*/false);
  ASSERT_TRUE(wanted.is_conj());
  wanted = wanted.resolve_conj().contiguous();
  KernelCall kernel("aten::linalg_lu_solve(LU=%0, pivots=%1, B=%2, left=false)",
                    {lu.contiguous(), pivots, b}, {wanted});
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(kernel.run());
    EXPECT_TRUE(same(kernel.results[0], wanted));
  }
}

TEST(Kernels, ConvolutionAllocatesInTheResult) {
  at::Tensor x = randn({2, 3, 8, 8}), w = randn({4, 3, 3, 3}), b = randn({4});
  KernelCall kernel(convolution, {x, w, b}, {at::empty({2, 4, 8, 8})});
  ASSERT_TRUE(kernel.run());
  Counter &copies = counter("execute.result_copies");
  int64_t before = copies.get();
  ASSERT_TRUE(kernel.run());
  EXPECT_EQ(copies.get(), before);
  EXPECT_TRUE(same(kernel.results[0], at::conv2d(x, w, b, 1, 1)));
}

/// Though it computes with images of one line.
TEST(Kernels, ConvolutionOverOneDimensionAllocatesInTheResult) {
  at::Tensor x = randn({2, 6, 50}), w = randn({4, 3, 5}), b = randn({4});
  KernelCall kernel("aten::convolution(input=%0, weight=%1, bias=%2, "
                    "stride=[1], padding=[2], dilation=[1], transposed=false, "
                    "output_padding=[0], groups=2)",
                    {x, w, b}, {at::empty({2, 4, 50})});
  ASSERT_TRUE(kernel.run());
  Counter &copies = counter("execute.result_copies");
  int64_t before = copies.get();
  ASSERT_TRUE(kernel.run());
  EXPECT_EQ(copies.get(), before);
  EXPECT_TRUE(same(kernel.results[0], at::conv1d(x, w, b, 1, 2, 1, 2)));
}

TEST(Kernels, AnOperandIsClonedIntoTheResult) {
  at::Tensor x = randn({4, 6}), index = at::tensor({1, 3}, at::kLong);
  KernelCall kernel(
      "aten::index_fill.int_Scalar(self=%0, dim=1, index=%1, value=2.0)",
      {x, index}, {at::empty({4, 6})});
  ASSERT_TRUE(kernel.run());
  Counter &copies = counter("execute.result_copies");
  int64_t before = copies.get();
  ASSERT_TRUE(kernel.run());
  EXPECT_EQ(copies.get(), before);
  EXPECT_TRUE(same(kernel.results[0], at::index_fill(x, 1, index, 2.0)));
}

TEST(Kernels, ZerosThatATenNeverStores) {
  at::Tensor wanted = at::zeros({3, 4});
  EXPECT_TRUE(same(runCall("aten::_efficientzerotensor(size=[3, 4], dtype=f32)",
                           {}, {wanted}),
                   {wanted}));
}

TEST(Kernels, ShapesMayChangeBetweenRuns) {
  at::Tensor x = randn({2, 3});
  KernelCall kernel("aten::cumsum(self=%0, dim=0)", {x}, {x});
  ASSERT_TRUE(kernel.run());
  x = randn({6, 2}).t();
  kernel.results = {at::empty({2, 6})};
  ASSERT_TRUE(kernel.run({x}));
  EXPECT_TRUE(same(kernel.results[0], at::cumsum(x, 0)));
}

} // namespace
