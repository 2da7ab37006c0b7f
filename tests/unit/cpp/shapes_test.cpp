//===- shapes_test.cpp - Result shapes in a process without Python --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of many ops PyTorch has meta kernels in Python only.
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

using torch::Tensor;

namespace {

struct Call {
  const char *name;
  std::function<Tensor(const Tensor &)> make; ///< of 2x4x6x6 numbers
};

int64_t fallbacks() {
  int64_t sum = 0;
  for (const auto &[name, count] : ltc::metrics())
    if (name.rfind("record.fallback", 0) == 0)
      sum += count;
  return sum;
}

/// Computes as the CPU does, and returns how many ops fell back for that.
int64_t compare(const Call &call) {
  torch::manual_seed(5);
  Tensor input = torch::randn({2, 4, 6, 6});
  Tensor wanted = call.make(input);
  int64_t before = fallbacks();
  Tensor found = call.make(input.to(ltc::device()));
  int64_t fell = fallbacks() - before;
  EXPECT_EQ(found.sizes(), wanted.sizes()) << call.name;
  EXPECT_EQ(found.strides(), wanted.strides()) << call.name;
  EXPECT_EQ(found.dtype(), wanted.dtype()) << call.name;
  EXPECT_TRUE(torch::allclose(found.cpu(), wanted, 1e-4, 1e-5)) << call.name;
  return fell;
}

TEST(CppShapes, ComeWithoutMetaKernels) {
  auto weights = [](const Tensor &x) {
    return torch::ones({3, 4, 3, 3}, x.options()).mul(0.1);
  };
  const Call calls[] = {
      {"conv2d", [&](auto &x) { return torch::conv2d(x, weights(x)); }},
      {"conv of channels last",
       [&](auto &x) {
         auto last = x.contiguous(at::MemoryFormat::ChannelsLast);
         return torch::conv2d(last, weights(x));
       }},
      {"layer_norm", [](auto &x) { return torch::layer_norm(x, {6}); }},
      {"group_norm", [](auto &x) { return torch::group_norm(x, 2); }},
      {"max_pool2d", [](auto &x) { return torch::max_pool2d(x, 2); }},
      {"adaptive_avg_pool2d",
       [](auto &x) { return torch::adaptive_avg_pool2d(x, {3, 2}); }},
      {"reflection_pad2d",
       [](auto &x) { return torch::reflection_pad2d(x, {1, 1, 2, 2}); }},
      {"cdist", [](auto &x) { return torch::cdist(x, x.mul(2)); }},
      {"sort", [](auto &x) { return std::get<0>(x.sort(1)); }},
      {"median", [](auto &x) { return x.median(); }},
      {"bernoulli", [](auto &x) { return x.sigmoid().mul(0).bernoulli(); }},
      {"embedding",
       [](auto &x) {
         return torch::embedding(x.select(0, 0).select(0, 0),
                                 x.gt(0).to(torch::kLong));
       }},
      {"grid_sampler",
       [](auto &x) {
         return torch::grid_sampler(x, x.slice(1, 0, 2).permute({0, 2, 3, 1}),
                                    0, 0, false);
       }},
      {"logsumexp", [](auto &x) { return x.logsumexp({1, 2}); }},
      {"cumsum", [](auto &x) { return x.cumsum(2); }},
      {"inverse",
       [](auto &x) {
         return torch::linalg_inv(x + 9 * torch::eye(6, x.options()));
       }},
      {"histc", [](auto &x) { return x.histc(5, -1, 1); }},
  };
  ltc::initialize({{"fallback", "error"}});
  for (const Call &call : calls)
    EXPECT_EQ(compare(call), 0) << call.name;
  ltc::initialize({{"fallback", "cpu"}});
}

TEST(CppShapes, ThatDependOnValuesAreComputed) {
  const Call calls[] = {
      {"nonzero", [](auto &x) { return x.gt(0).nonzero(); }},
      {"masked_select", [](auto &x) { return x.masked_select(x.gt(0)); }},
      {"index", [](auto &x) { return x.index({x.gt(0)}); }},
      {"unique", [](auto &x) { return std::get<0>(at::_unique(x.round())); }},
      {"bincount",
       [](auto &x) { return x.gt(0).flatten().to(torch::kLong).bincount(); }},
  };
  for (const Call &call : calls)
    EXPECT_GT(compare(call), 0) << call.name;
}

} // namespace
