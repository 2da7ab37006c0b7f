//===- random_test.cpp - Kernels that draw numbers --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_call.h"

using namespace ltc::backend::test;

namespace {

at::Generator generator(uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return generator;
}

// In float16, which the kernels that draw by place (kernels/cpu/random) leave
// to ATen's.

TEST(RandomKernels, SeedDecidesTheNumbers) {
  at::Tensor like = at::empty({64}, at::kHalf);
  KernelCall kernel("aten::rand(size=[64], dtype=f16, seed=%0)", {int64_t(7)},
                    {like});
  ASSERT_TRUE(kernel.run());
  EXPECT_TRUE(same(kernel.results[0], at::rand({64}, generator(7), at::kHalf)));
  ASSERT_TRUE(kernel.run({int64_t(8)}));
  EXPECT_TRUE(same(kernel.results[0], at::rand({64}, generator(8), at::kHalf)));
}

TEST(RandomKernels, NumbersByPlaceAreTheSameForOneSeed) {
  at::Tensor like = at::empty({64});
  KernelCall kernel("aten::rand(size=[64], seed=%0)", {int64_t(7)}, {like});
  ASSERT_TRUE(kernel.run());
  at::Tensor first = kernel.results[0].clone();
  ASSERT_TRUE(kernel.run({int64_t(8)}));
  EXPECT_FALSE(same(kernel.results[0], first));
  ASSERT_TRUE(kernel.run({int64_t(7)}));
  EXPECT_TRUE(same(kernel.results[0], first));
}

TEST(RandomKernels, AGeneratorArgumentIsSeeded) {
  at::Tensor p = at::full({100}, 0.3, at::kHalf);
  at::Tensor wanted = at::bernoulli(p, generator(5));
  EXPECT_TRUE(same(
      runCall("aten::bernoulli(self=%0, seed=%1)", {p, int64_t(5)}, {wanted}),
      {wanted}));
}

TEST(RandomKernels, LikesTakeTheOverloadWithAGenerator) {
  at::Tensor x = at::empty({40}, at::kHalf);
  at::Tensor wanted = at::randn_like(x, generator(11));
  EXPECT_TRUE(same(
      runCall("aten::randn_like(self=%0, seed=%1)", {x, int64_t(11)}, {wanted}),
      {wanted}));
}

TEST(RandomKernels, DropoutDrawsWhatEagerDraws) {
  at::Tensor x = at::randn({50, 3}).to(at::kHalf);
  at::manual_seed(21);
  auto [out, mask] = at::native_dropout(x, 0.4, true);
  at::manual_seed(99);
  at::Tensor next = at::rand({3});
  at::manual_seed(99);
  auto results = runCall("aten::native_dropout(input=%0, p=%1, train=true, "
                         "seed=%2)",
                         {x, 0.4, int64_t(21)}, {out, mask});
  EXPECT_TRUE(same(results, {out, mask}));
  // The process's own generator did not move.
  EXPECT_TRUE(same(at::rand({3}), next));
}

TEST(RandomKernels, DropoutThatKeepsOrDropsEverything) {
  at::Tensor x = at::randn({8});
  at::Tensor all = at::ones({8}, at::kBool);
  std::string call = "aten::native_dropout(input=%0, p=%1, train=true, "
                     "seed=%2)";
  EXPECT_TRUE(same(runCall(call, {x, 0.0, int64_t(1)}, {x, all}), {x, all}));
  at::Tensor zero = x * 0.0;
  EXPECT_TRUE(same(runCall(call, {x, 1.0, int64_t(1)}, {x, all}),
                   {zero, at::zeros({8}, at::kBool)}));
}

TEST(RandomKernels, WithoutAGeneratorArgumentTheProcessStateIsLent) {
  at::Tensor x = at::randn({2, 3, 4, 5});
  std::string call = "aten::feature_dropout(input=%0, p=0.5, train=true, "
                     "seed=%1)";
  at::manual_seed(13);
  at::Tensor wanted = at::feature_dropout(x, 0.5, true);
  at::manual_seed(99);
  at::Tensor next = at::rand({3});
  at::manual_seed(99);
  EXPECT_TRUE(same(runCall(call, {x, int64_t(13)}, {wanted}), {wanted}));
  EXPECT_TRUE(same(at::rand({3}), next));
}

} // namespace
