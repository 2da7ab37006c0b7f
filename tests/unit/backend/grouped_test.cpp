//===- grouped_test.cpp - Against float64 -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/convolution/grouped.h"

#include "kernel_call.h"
#include "kernels/cpu/threads/parallel.h"
#include "vectors_test.h"
#include "view.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>

using namespace ltc::kernels;
using ltc::backend::test::Guarded;
using ltc::backend::test::KernelCall;
using ltc::backend::test::VectorsTest;
using ltc::backend::test::view;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Grouped : public VectorsTest {};

struct Case {
  std::vector<int64_t> input; ///< (N, C, H, W)
  int64_t groups, kernels;    ///< in all
  Window window;

  at::Tensor weight() const {
    return at::randn(
        {kernels, input[1] / groups, window.size[0], window.size[1]});
  }
  at::Tensor output(const at::Tensor &input, const at::Tensor &weight,
                    const at::Tensor &bias = {}) const {
    return at::conv2d(input, weight, bias, window.stride, window.padding,
                      window.dilation, groups);
  }
  at::Tensor grad() const {
    return at::randn(output(at::empty(input), weight()).sizes());
  }
};

// Each channel alone: one place and many; steps of one and two, each way; even
// and odd widths and paddings; taps that fall into each phase; windows that see
// outside only. Several channels, and kernels, to a group.
const std::vector<Case> kCases = {
    {{1, 2, 1, 1}, 2, 2, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}},
    {{2, 3, 7, 7}, 3, 3, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 5, 20, 33}, 5, 5, {{3, 3}, {2, 2}, {1, 1}, {1, 1}}},
    {{1, 4, 21, 18}, 4, 4, {{3, 5}, {2, 1}, {0, 2}, {1, 2}}},
    {{3, 2, 19, 40}, 2, 2, {{5, 5}, {1, 2}, {2, 1}, {1, 1}}},
    {{2, 2, 30, 29}, 2, 2, {{7, 7}, {1, 1}, {3, 3}, {1, 1}}},
    {{1, 3, 30, 30}, 3, 3, {{4, 2}, {2, 2}, {3, 0}, {2, 3}}},
    {{1, 2, 3, 4}, 2, 2, {{1, 1}, {2, 2}, {3, 5}, {1, 1}}},
    {{2, 6, 1, 200}, 6, 6, {{1, 31}, {1, 1}, {0, 15}, {1, 1}}},
    {{1, 2, 130, 140}, 2, 2, {{3, 3}, {1, 1}, {2, 2}, {2, 2}}},
    {{2, 6, 9, 9}, 2, 4, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 12, 14, 14}, 3, 21, {{3, 3}, {2, 2}, {1, 1}, {1, 1}}},
    {{1, 8, 15, 20}, 2, 2, {{2, 3}, {2, 1}, {0, 2}, {1, 2}}},
    {{3, 3, 8, 7}, 3, 9, {{5, 5}, {1, 2}, {2, 2}, {1, 1}}},
    {{2, 32, 7, 7}, 4, 44, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}}};

void expectNear(const at::Tensor &found, const at::Tensor &wanted,
                const Case &of) {
  at::Tensor error = (found.to(at::kDouble) - wanted).abs().max();
  EXPECT_LE(error.item<double>(), 1e-6 * wanted.abs().max().item<double>())
      << of.input << " by " << of.window.size[0] << "x" << of.window.size[1];
}

TEST_F(Grouped, IsTheConvolution) {
  for (const Case &of : kCases) {
    at::Tensor input = at::randn(of.input), weight = of.weight(),
               bias = at::randn({of.kernels});
    at::Tensor wanted = of.output(input.to(at::kDouble), weight.to(at::kDouble),
                                  bias.to(at::kDouble));
    Guarded found(wanted.sizes());
    EXPECT_TRUE(groupedConvolution(view(input), view(weight), view(bias),
                                   of.groups, of.window, view(found.inside)));
    EXPECT_TRUE(found.isUntouched());
    expectNear(found.inside, wanted, of);
  }
}

TEST_F(Grouped, HasTheGradients) {
  for (const Case &of : kCases) {
    at::Tensor input = at::randn(of.input), weight = of.weight(),
               grad = of.grad();
    auto [ofInput, ofWeight, none] = at::convolution_backward(
        grad.to(at::kDouble), input.to(at::kDouble), weight.to(at::kDouble),
        std::nullopt, of.window.stride, of.window.padding, of.window.dilation,
        false, {0, 0}, of.groups, {true, true, false});
    Guarded gradInput(of.input), gradWeight(weight.sizes());
    EXPECT_TRUE(groupedInputGrad(view(grad), view(weight), of.groups, of.window,
                                 view(gradInput.inside)));
    EXPECT_TRUE(gradInput.isUntouched());
    expectNear(gradInput.inside, ofInput, of);
    EXPECT_TRUE(groupedWeightGrad(view(grad), view(input), of.groups, of.window,
                                  view(gradWeight.inside)));
    EXPECT_TRUE(gradWeight.isUntouched());
    expectNear(gradWeight.inside, ofWeight, of);
  }
}

/// Other channels have other threads, and other scratch.
TEST_F(Grouped, GivesTheSameOnAnyNumberOfThreads) {
  int threads = at::get_num_threads();
  for (const Case &of : kCases) {
    at::Tensor input = at::randn(of.input), weight = of.weight(),
               grad = of.grad();
    std::vector<std::vector<at::Tensor>> found;
    for (int count : {1, 3}) {
      at::set_num_threads(count);
      noteThreadCount();
      auto &each = found.emplace_back(std::vector<at::Tensor>{
          at::empty_like(grad), at::empty_like(input), at::empty_like(weight)});
      EXPECT_TRUE(groupedConvolution(view(input), view(weight), {}, of.groups,
                                     of.window, view(each[0])));
      EXPECT_TRUE(groupedInputGrad(view(grad), view(weight), of.groups,
                                   of.window, view(each[1])));
      EXPECT_TRUE(groupedWeightGrad(view(grad), view(input), of.groups,
                                    of.window, view(each[2])));
    }
    for (size_t i = 0; i < found[0].size(); ++i)
      EXPECT_TRUE(found[0][i].equal(found[1][i]));
  }
  at::set_num_threads(threads);
  noteThreadCount();
}

TEST_F(Grouped, SaysWhenAValueIsNotFinite) {
  Case of{{2, 4, 9, 9}, 2, 2, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}};
  at::Tensor input = at::randn(of.input), weight = of.weight(),
             grad = of.grad();
  at::Tensor output = at::empty_like(grad), gradInput = at::empty_like(input),
             gradWeight = at::empty_like(weight);
  for (float value : {kInfinity, -kInfinity, kInfinity - kInfinity}) {
    at::Tensor bad = weight.clone();
    bad.view(-1)[4].fill_(value);
    EXPECT_FALSE(groupedConvolution(view(input), view(bad), {}, of.groups,
                                    of.window, view(output)));
    EXPECT_FALSE(groupedInputGrad(view(grad), view(bad), of.groups, of.window,
                                  view(gradInput)));
    at::Tensor badGrad = grad.clone();
    badGrad.view(-1)[40].fill_(value);
    EXPECT_FALSE(groupedWeightGrad(view(badGrad), view(input), of.groups,
                                   of.window, view(gradWeight)));
  }
}

/// What is not finite in an image stays in its places.
TEST_F(Grouped, KeepsWhatIsNotFiniteInItsPlaces) {
  for (const Case &of : kCases) {
    at::Tensor input = at::randn(of.input), weight = of.weight(),
               grad = of.grad();
    input.view(-1)[input.numel() / 2].fill_(kInfinity);
    grad.view(-1)[grad.numel() / 2].fill_(-kInfinity);
    at::Tensor wanted = of.output(input, weight),
               found = at::empty_like(wanted), foundGrad = at::empty(of.input);
    EXPECT_TRUE(groupedConvolution(view(input), view(weight), {}, of.groups,
                                   of.window, view(found)));
    EXPECT_TRUE(found.allclose(wanted, 1e-4, 1e-4, /*equal_nan=*/true));
    auto gradients = at::convolution_backward(
        grad, input, weight, std::nullopt, of.window.stride, of.window.padding,
        of.window.dilation, false, {0, 0}, of.groups, {true, false, false});
    EXPECT_TRUE(groupedInputGrad(view(grad), view(weight), of.groups, of.window,
                                 view(foundGrad)));
    EXPECT_TRUE(foundGrad.allclose(std::get<0>(gradients), 1e-4, 1e-4,
                                   /*equal_nan=*/true));
  }
}

/// Bit for bit, where oneDNN would round differently.
void expectGraphCalls(const Case &of) {
  at::Tensor input = at::randn(of.input), weight = of.weight(),
             bias = at::randn({of.kernels}), grad = of.grad();
  at::Tensor output = at::empty_like(grad), gradInput = at::empty_like(input),
             gradWeight = at::empty_like(weight);
  ASSERT_TRUE(groupedConvolution(view(input), view(weight), view(bias),
                                 of.groups, of.window, view(output)));
  ASSERT_TRUE(groupedInputGrad(view(grad), view(weight), of.groups, of.window,
                               view(gradInput)));
  ASSERT_TRUE(groupedWeightGrad(view(grad), view(input), of.groups, of.window,
                                view(gradWeight)));
  auto flat = [](const at::Tensor &t) { return t.squeeze(2).contiguous(); };
  std::string groups = std::to_string(of.groups);
  KernelCall call("aten::convolution(input=%0, weight=%1, bias=%2, stride=[2], "
                  "padding=[4], dilation=[1], transposed=false, "
                  "output_padding=[0], groups=" +
                      groups + ")",
                  {flat(input), flat(weight), bias}, {flat(output)});
  ASSERT_TRUE(call.run());
  EXPECT_TRUE(call.results[0].equal(flat(output)));
  KernelCall backward(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
      "bias_sizes=[" +
          std::to_string(of.kernels) +
          "], stride=[2], padding=[4], dilation=[1], transposed=false, "
          "output_padding=[0], groups=" +
          groups + ", output_mask=[true, true, true])",
      {flat(grad), flat(input), flat(weight)},
      {flat(input), flat(weight), bias});
  ASSERT_TRUE(backward.run());
  EXPECT_TRUE(backward.results[0].equal(flat(gradInput)));
  EXPECT_TRUE(backward.results[1].equal(flat(gradWeight)));
  EXPECT_TRUE(backward.results[2].equal(grad.sum({0, 2, 3})));
}

TEST_F(Grouped, IsWhatAGraphCalls) {
  Window window{{1, 9}, {1, 2}, {0, 4}, {1, 1}};
  expectGraphCalls({{3, 40, 1, 200}, 40, 40, window});
  expectGraphCalls({{2, 12, 1, 800}, 4, 20, window});
}

} // namespace
