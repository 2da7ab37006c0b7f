//===- patch_input_grad_test.cpp - Against float64 --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/convolution/patch_input_grad.h"

#include "kernel_call.h"
#include "kernels/cpu/convolution/patch_convolution.h"
#include "kernels/cpu/convolution/patch_weight_grad.h"
#include "kernels/cpu/threads/parallel.h"
#include "vectors_test.h"
#include "view.h"
#include "window_case.h"

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

class PatchInputGrad : public VectorsTest {};

using Case = ltc::backend::test::WindowCase;

// One block of channels or several, of a channel or more; whole panels and
// others; steps of one, two and more; windows that overlap, that leave places
// out, and that see outside of the image only; deep products.
const std::vector<Case> kCases = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{3, 5, 7, 6}, {9, 5, 3, 3}, {{}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 3, 37, 36}, {70, 3, 7, 7}, {{}, {2, 2}, {3, 3}, {1, 1}}},
    {{2, 16, 40, 44}, {32, 16, 3, 2}, {{}, {1, 2}, {4, 2}, {2, 3}}},
    {{2, 40, 11, 9}, {600, 40, 3, 3}, {{}, {3, 3}, {1, 1}, {1, 1}}},
    {{2, 33, 20, 26}, {21, 33, 2, 2}, {{}, {2, 2}, {0, 0}, {1, 1}}},
    {{2, 30, 20, 33}, {13, 30, 1, 1}, {{}, {2, 2}, {0, 0}, {1, 1}}},
    {{1, 2, 24, 31}, {3, 2, 16, 16}, {{}, {4, 5}, {0, 0}, {1, 1}}},
    {{1, 2, 4, 4}, {3, 2, 1, 1}, {{}, {1, 1}, {3, 5}, {1, 1}}}};

TEST_F(PatchInputGrad, IsTheGradient) {
  for (Case of : kCases) {
    of.window.size = {of.weight[2], of.weight[3]};
    at::Tensor weight = at::randn(of.weight), grad = gradOf(of),
               bias = at::randn({of.input[1]});
    auto gradients = at::convolution_backward(
        grad.to(at::kDouble), at::empty(of.input, at::kDouble),
        weight.to(at::kDouble), std::nullopt, of.window.stride,
        of.window.padding, of.window.dilation, false, {0, 0}, 1,
        {true, false, false});
    at::Tensor wanted = std::get<0>(gradients);
    for (bool adds : {false, true}) {
      Guarded found(of.input);
      patchInputGrad(view(grad), view(weight), view(adds ? bias : at::Tensor()),
                     of.window, view(found.inside));
      EXPECT_TRUE(found.isUntouched());
      at::Tensor sum = adds ? wanted + bias.view({-1, 1, 1}) : wanted;
      at::Tensor error = (found.inside.to(at::kDouble) - sum).abs().max();
      EXPECT_LE(error.item<double>(), 1e-6 * sum.abs().max().item<double>())
          << of.input << " by " << of.weight;
    }
  }
}

TEST_F(PatchInputGrad, GivesTheSameOnAnyNumberOfThreads) {
  int threads = at::get_num_threads();
  for (Case of : kCases) {
    of.window.size = {of.weight[2], of.weight[3]};
    at::Tensor weight = at::randn(of.weight), grad = gradOf(of),
               one = at::empty(of.input), three = at::empty(of.input);
    at::set_num_threads(1);
    noteThreadCount();
    patchInputGrad(view(grad), view(weight), {}, of.window, view(one));
    at::set_num_threads(3);
    noteThreadCount();
    patchInputGrad(view(grad), view(weight), {}, of.window, view(three));
    EXPECT_TRUE(one.equal(three));
  }
  at::set_num_threads(threads);
  noteThreadCount();
}

/// No place outside of an image is multiplied by anything.
TEST_F(PatchInputGrad, KeepsWhatIsNotFiniteInItsPlaces) {
  Window window{{3, 3}, {2, 2}, {1, 1}, {1, 1}};
  at::Tensor weight = at::ones({4, 3, 3, 3}), grad = at::ones({1, 4, 6, 6}),
             found = at::empty({1, 3, 11, 11});
  grad[0][1][2][3] = std::numeric_limits<float>::infinity();
  patchInputGrad(view(grad), view(weight), {}, window, view(found));
  at::Tensor inside = at::zeros({11, 11}, at::kBool);
  inside.slice(0, 3, 6).slice(1, 5, 8).fill_(true);
  EXPECT_TRUE(found.isinf().equal(inside.expand({1, 3, 11, 11})));
}

/// Bit for bit, where oneDNN would round differently.
TEST_F(PatchInputGrad, IsWhatAGraphCalls) {
  Window window{{3, 3}, {2, 2}, {0, 0}, {1, 1}};
  at::Tensor images = at::randn({1, 2, 2050, 2050}),
             weight = at::randn({9, 2, 3, 3}),
             places = at::randn({1, 9, 1024, 1024}), bias = at::randn({2});
  ASSERT_TRUE(isMapped(images.sizes()));
  at::Tensor wanted = at::empty_like(images);
  patchInputGrad(view(places), view(weight), {}, window, view(wanted));
  KernelCall call(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
      "bias_sizes=[0], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
      "transposed=false, output_padding=[0, 0], groups=1, "
      "output_mask=[true, false, false])",
      {places, images, weight}, {images});
  ASSERT_TRUE(call.run());
  EXPECT_TRUE(call.results[0].equal(wanted));

  // A transposed convolution, one line and column of which see nothing.
  patchInputGrad(view(places), view(weight), view(bias), window, view(wanted));
  KernelCall transposed(
      "aten::convolution(input=%0, weight=%1, bias=%2, stride=[2, 2], "
      "padding=[0, 0], dilation=[1, 1], transposed=true, "
      "output_padding=[1, 1], groups=1)",
      {places, weight, bias}, {images});
  ASSERT_TRUE(transposed.run());
  EXPECT_TRUE(transposed.results[0].equal(wanted));
  at::Tensor gradPlaces = at::empty_like(places),
             gradWeight = at::empty_like(weight);
  ASSERT_TRUE(patchConvolution(view(images), view(weight), {}, window,
                               view(gradPlaces)));
  ASSERT_TRUE(
      patchWeightGrad(view(places), view(images), window, view(gradWeight)));
  KernelCall backward(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
      "bias_sizes=[2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
      "transposed=true, output_padding=[1, 1], groups=1, "
      "output_mask=[true, true, true])",
      {images, places, weight}, {places, weight, bias});
  ASSERT_TRUE(backward.run());
  EXPECT_TRUE(backward.results[0].equal(gradPlaces));
  EXPECT_TRUE(backward.results[1].equal(gradWeight));
  EXPECT_TRUE(backward.results[2].equal(images.sum({0, 2, 3})));
}

} // namespace
