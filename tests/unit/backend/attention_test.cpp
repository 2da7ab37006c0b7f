//===- attention_test.cpp - Attention against float64 -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/attention/attention.h"

#include "kernels/cpu/threads/parallel.h"
#include "view.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

using namespace ltc::kernels;
using at::Tensor;
using ltc::backend::test::view;

namespace {

class AttentionKernel : public testing::Test {
protected:
  void SetUp() override {
    Tensor x = at::empty({1, 1, 64, 64});
    if (!attentionPays(view(x), view(x), view(x)))
      GTEST_SKIP() << "ATen's kernel is the faster one on this processor";
    at::manual_seed(0);
  }
};

struct Shape {
  int64_t batch, heads, queries, keys, width;
};

/// Query, key, value and the output's gradient, as a projection leaves them:
/// the heads of a place next to each other.
std::vector<Tensor> operands(const Shape &s) {
  std::vector<Tensor> list;
  for (int64_t length : {s.queries, s.keys, s.keys, s.queries})
    list.push_back(
        at::randn({s.batch, length, s.heads, s.width}).transpose(1, 2));
  return list;
}

/// Output, logarithms of sums, and the three gradients.
std::vector<Tensor> run(const std::vector<Tensor> &in, bool causal, float scale,
                        const Tensor &mask = {}) {
  Attention call{view(in[0]), view(in[1]), view(in[2]),
                 view(mask),  causal,      scale};
  std::vector<Tensor> out;
  for (const Tensor &like :
       {in[0], in[0].select(3, 0).to(at::kFloat), in[0], in[1], in[2]})
    out.push_back(at::full(like.sizes(), NAN, like.options()));
  attention(call, view(out[0]), view(out[1]));
  attentionBackward(call, view(in[3]), view(out[0]), view(out[1]), view(out[2]),
                    view(out[3]), view(out[4]));
  return out;
}

/// The same from its definition.
std::vector<Tensor> defined(const std::vector<Tensor> &in, bool causal,
                            double scale, const Tensor &mask = {}) {
  Tensor q = in[0].to(at::kDouble), k = in[1].to(at::kDouble),
         v = in[2].to(at::kDouble), grad = in[3].to(at::kDouble);
  Tensor scores = q.matmul(k.transpose(2, 3)) * scale;
  if (mask.defined())
    scores = scores + mask;
  if (causal)
    scores =
        scores.masked_fill(at::ones_like(scores, at::kBool).triu(1), -INFINITY);
  Tensor weights = scores.softmax(3), output = weights.matmul(v);
  Tensor gradScores = weights *
                      (grad.matmul(v.transpose(2, 3)) -
                       (grad * output).sum(3, /*keepdim=*/true)) *
                      scale;
  return {output, scores.logsumexp(3), gradScores.matmul(k),
          gradScores.transpose(2, 3).matmul(q),
          weights.transpose(2, 3).matmul(grad)};
}

void expectClose(const std::vector<Tensor> &found,
                 const std::vector<Tensor> &wanted, double error = 1e-5) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    Tensor off = (found[i].to(at::kDouble) - wanted[i]).abs();
    double bound = error * wanted[i].abs().max().item<double>();
    EXPECT_TRUE((off <= bound).all().item<bool>())
        << "result " << i << " is off by " << off.max().item<double>();
  }
}

/// Lengths and widths around those of tiles and panels, and beyond the keys
/// and queries that are packed at a time.
TEST_F(AttentionKernel, FollowsItsDefinition) {
  for (const Shape &shape : {Shape{1, 1, 32, 32, 16},
                             {2, 3, 128, 128, 64},
                             {1, 2, 33, 65, 17},
                             {1, 2, 300, 100, 80},
                             {1, 1, 100, 1100, 130},
                             {1, 1, 1061, 555, 32}})
    for (bool causal : {false, true})
      for (float scale : {0.125f, -0.3f}) {
        std::vector<Tensor> in = operands(shape);
        ASSERT_TRUE(attentionPays(view(in[0]), view(in[1]), view(in[2])));
        expectClose(run(in, causal, scale), defined(in, causal, scale));
      }
}

/// A number, or nothing, for each key of each query, for the keys of a batch
/// (its padding), and for what all heads share.
TEST_F(AttentionKernel, AddsAMask) {
  for (const Shape &s : {Shape{2, 3, 128, 128, 64},
                         {1, 2, 33, 65, 17},
                         {2, 2, 300, 1100, 16},
                         {2, 3, 2, 700, 33}})
    for (at::IntArrayRef shape : std::vector<std::vector<int64_t>>{
             {s.batch, s.heads, s.queries, s.keys},
             {s.batch, 1, 1, s.keys},
             {1, 1, s.queries, s.keys},
             {1, s.heads, 1, s.keys}}) {
      std::vector<Tensor> in = operands(s);
      Tensor mask = at::randn(shape);
      mask.masked_fill_(at::rand(shape) < 0.4, -INFINITY);
      mask.select(3, 7).fill_(0.5); // each query sees one
      ASSERT_TRUE(
          attentionPays(view(in[0]), view(in[1]), view(in[2]), view(mask)));
      expectClose(run(in, false, 0.2f, mask), defined(in, false, 0.2f, mask));
      expectClose(run(in, true, 0.2f, mask.clamp_min(-1)),
                  defined(in, true, 0.2f, mask.clamp_min(-1)));
    }
}

/// More queries and keys than are widened at a time. Only results are rounded,
/// and the output that the backward is given.
TEST_F(AttentionKernel, SumsBfloat16InFloat) {
  for (const Shape &shape : {Shape{2, 2, 128, 128, 64},
                             {1, 2, 33, 65, 17},
                             {1, 1, 300, 1100, 32},
                             {1, 1, 600, 100, 16}})
    for (bool causal : {false, true}) {
      std::vector<Tensor> in = operands(shape);
      for (Tensor &one : in)
        one = one.to(at::kBFloat16);
      ASSERT_TRUE(attentionPays(view(in[0]), view(in[1]), view(in[2])));
      std::vector<Tensor> found = run(in, causal, 0.2f);
      EXPECT_EQ(found[4].scalar_type(), at::kBFloat16);
      expectClose(found, defined(in, causal, 0.2f), /*error=*/1.0 / 128);
    }
}

/// As when a text is written a letter at a time; gradients are ATen's then.
TEST_F(AttentionKernel, AnswersFewQueries) {
  for (const Shape &s : {Shape{2, 4, 1, 128, 64},
                         {1, 2, 3, 1100, 80},
                         {1, 1, 7, 20, 150},
                         {3, 1, 2, 513, 17}})
    for (at::ScalarType type : {at::kFloat, at::kBFloat16})
      for (bool masked : {false, true})
        for (bool causal : {false, true}) {
          std::vector<Tensor> in = operands(s);
          for (Tensor &one : in)
            one = one.to(type);
          Tensor mask = at::randn({s.batch, 1, s.queries, s.keys});
          mask.slice(3, 5, 9).fill_(-INFINITY);
          if (!masked)
            mask = Tensor();
          ASSERT_TRUE(attentionPays(view(in[0]), view(in[1]), view(in[2]),
                                    view(masked ? mask.to(type) : Tensor())));
          EXPECT_FALSE(attentionBackwardPays(view(in[0]), view(in[1])));
          std::vector<Tensor> found = run(in, causal, 0.2f, mask);
          std::vector<Tensor> wanted = defined(in, causal, 0.2f, mask);
          found.resize(2);
          wanted.resize(2);
          expectClose(found, wanted, type == at::kFloat ? 1e-5 : 1.0 / 128);
        }
}

TEST_F(AttentionKernel, GivesZerosWhereAllIsMasked) {
  std::vector<Tensor> in = operands({1, 2, 70, 600, 16});
  Tensor mask = at::zeros({1, 1, 70, 600});
  mask.select(2, 3).fill_(-INFINITY);
  std::vector<Tensor> found = run(in, false, 1, mask);
  EXPECT_TRUE(found[0].select(2, 3).eq(0).all().item<bool>());
  EXPECT_TRUE(found[2].select(2, 3).eq(0).all().item<bool>());
  for (const Tensor &one : found)
    EXPECT_TRUE(one.isfinite().all().item<bool>());
}

/// Scores of which most have no weight, the largest of them far behind.
TEST_F(AttentionKernel, WeighsLargeScores) {
  std::vector<Tensor> in = operands({1, 1, 40, 600, 16});
  in[1].select(2, 599).mul_(40);
  in[0].mul_(8);
  expectClose(run(in, false, 1), defined(in, false, 1));
}

TEST_F(AttentionKernel, KeepsWhatIsNotFiniteInItsRows) {
  std::vector<Tensor> in = operands({1, 1, 70, 70, 16});
  in[0].select(2, 3).select(2, 5).fill_(NAN);
  in[1].select(2, 60).select(2, 1).fill_(INFINITY);
  Tensor output = run(in, /*causal=*/true, 1)[0];
  for (int64_t row = 0; row < 60; ++row)
    EXPECT_EQ(output.select(2, row).isnan().any().item<bool>(), row == 3);
}

TEST_F(AttentionKernel, IsTheSameOnAnyNumberOfThreads) {
  std::vector<Tensor> in = operands({2, 3, 300, 300, 32});
  at::set_num_threads(1);
  noteThreadCount();
  std::vector<Tensor> alone = run(in, true, 0.2f);
  at::set_num_threads(4);
  noteThreadCount();
  for (int round = 0; round < 5; ++round) {
    std::vector<Tensor> together = run(in, true, 0.2f);
    for (size_t i = 0; i < alone.size(); ++i)
      EXPECT_TRUE(at::equal(together[i], alone[i])) << "result " << i;
  }
}

TEST(Attention, LeavesOtherOperandsToATen) {
  Tensor x = at::randn({2, 4, 64, 32});
  EXPECT_FALSE(attentionPays(view(x.slice(2, 0, 8)), view(x), view(x)));
  EXPECT_FALSE(
      attentionPays(view(x), view(x.slice(1, 0, 2)), view(x.slice(1, 0, 2))));
  EXPECT_FALSE(attentionPays(view(x), view(x), view(x.slice(2, 0, 60))));
  EXPECT_FALSE(attentionPays(view(x), view(x), view(x.slice(3, 0, 31))));
  EXPECT_FALSE(attentionPays(view(x.transpose(2, 3)), view(x), view(x)));
  EXPECT_FALSE(
      attentionPays(view(x.slice(2, 0, 1).expand_as(x)), view(x), view(x)));
  for (at::IntArrayRef shape : std::vector<std::vector<int64_t>>{
           {64, 64}, {2, 4, 64, 1}, {2, 3, 64, 64}, {2, 4, 60, 64}})
    EXPECT_FALSE(
        attentionPays(view(x), view(x), view(x), view(at::zeros(shape))));
  EXPECT_FALSE(attentionPays(view(x), view(x), view(x),
                             view(at::zeros({1, 1, 1, 64}, at::kDouble))));
  EXPECT_FALSE(
      attentionPays(view(x), view(x), view(x),
                    view(at::zeros({64, 64}).t().expand({1, 1, 64, 64}))));
  EXPECT_FALSE(attentionPays(view(x.to(at::kDouble)), view(x.to(at::kDouble)),
                             view(x.to(at::kDouble))));
  EXPECT_FALSE(attentionPays(view(x.to(at::kBFloat16)), view(x), view(x)));
  EXPECT_FALSE(attentionPays(view(x), view(x), view(x),
                             view(at::zeros({64, 64}, at::kBFloat16))));
}

} // namespace
