//===- patch_weight_grad_test.cpp - Against float64 -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/convolution/patch_weight_grad.h"

#include "kernel_call.h"
#include "kernels/cpu/convolution/patch_convolution.h"
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

class PatchWeightGrad : public VectorsTest {};

using Case = ltc::backend::test::WindowCase;

// Patches, and images as they lie, with more kernels than channels and with
// fewer; one chunk of an image or several, whole panels and others; one part
// that is the result itself, few, or as many as there may be.
const std::vector<Case> kCases = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{3, 5, 7, 6}, {9, 5, 3, 3}, {{}, {1, 1}, {1, 1}, {1, 1}}},
    {{5, 3, 37, 36}, {70, 3, 7, 7}, {{}, {2, 2}, {3, 3}, {1, 1}}},
    {{2, 16, 40, 44}, {32, 16, 3, 2}, {{}, {1, 2}, {4, 2}, {2, 3}}},
    {{4, 200, 9, 9}, {16, 200, 3, 3}, {{}, {3, 3}, {1, 1}, {1, 1}}},
    {{3, 20, 20, 33}, {130, 20, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{3, 130, 20, 33}, {21, 130, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{70, 40, 3, 5}, {70, 40, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{1, 1100, 8, 9}, {2100, 1100, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{1, 600, 6, 6}, {900, 600, 2, 2}, {{}, {2, 2}, {0, 0}, {1, 1}}}};

at::Tensor aten(const at::Tensor &grad, const at::Tensor &input, Case of) {
  auto gradients = at::convolution_backward(
      grad, input, at::empty(of.weight, grad.options()), std::nullopt,
      of.window.stride, of.window.padding, of.window.dilation, false, {0, 0}, 1,
      {false, true, false});
  return std::get<1>(gradients);
}

TEST_F(PatchWeightGrad, IsTheGradient) {
  for (Case of : kCases) {
    of.window.size = {of.weight[2], of.weight[3]};
    at::Tensor input = at::randn(of.input), grad = gradOf(of);
    at::Tensor wanted = aten(grad.to(at::kDouble), input.to(at::kDouble), of);
    Guarded found(of.weight);
    EXPECT_TRUE(patchWeightGrad(view(grad), view(input), of.window,
                                view(found.inside)));
    EXPECT_TRUE(found.isUntouched());
    at::Tensor error = (found.inside.to(at::kDouble) - wanted).abs().max();
    EXPECT_LE(error.item<double>(), 1e-6 * wanted.abs().max().item<double>())
        << of.input << " by " << of.weight;
  }
}

TEST_F(PatchWeightGrad, GivesTheSameOnAnyNumberOfThreads) {
  int threads = at::get_num_threads();
  for (Case of : kCases) {
    of.window.size = {of.weight[2], of.weight[3]};
    at::Tensor input = at::randn(of.input), grad = gradOf(of),
               one = at::empty(of.weight), three = at::empty(of.weight);
    at::set_num_threads(1);
    noteThreadCount();
    EXPECT_TRUE(patchWeightGrad(view(grad), view(input), of.window, view(one)));
    at::set_num_threads(3);
    noteThreadCount();
    EXPECT_TRUE(
        patchWeightGrad(view(grad), view(input), of.window, view(three)));
    EXPECT_TRUE(one.equal(three));
  }
  at::set_num_threads(threads);
  noteThreadCount();
}

TEST_F(PatchWeightGrad, SaysWhenAValueIsNotFinite) {
  Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  at::Tensor input = at::randn({2, 4, 9, 9}), grad = at::randn({2, 8, 9, 9}),
             result = at::empty({8, 4, 3, 3});
  EXPECT_TRUE(patchWeightGrad(view(grad), view(input), window, view(result)));
  grad.select(0, 1).select(0, 7).select(0, 8).select(0, 8).fill_(
      std::numeric_limits<float>::infinity());
  EXPECT_FALSE(patchWeightGrad(view(grad), view(input), window, view(result)));
  // Without zeros it is the sum that is not.
  at::Tensor points = at::empty({8, 4, 1, 1});
  EXPECT_TRUE(patchWeightGrad(view(grad), view(input), {}, view(points)));
  EXPECT_FALSE(points.isfinite().all().item<bool>());
}

/// Bit for bit, where oneDNN would round differently.
TEST_F(PatchWeightGrad, IsWhatAGraphCalls) {
  at::Tensor input = at::randn({1, 2, 2050, 2050}),
             weight = at::randn({9, 2, 3, 3}),
             grad = at::randn({1, 9, 1024, 1024});
  ASSERT_TRUE(isMapped(input.sizes()));
  at::Tensor wanted = at::empty_like(weight);
  ASSERT_TRUE(patchWeightGrad(view(grad), view(input),
                              {{3, 3}, {2, 2}, {0, 0}, {1, 1}}, view(wanted)));
  KernelCall call(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
      "bias_sizes=[9], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
      "transposed=false, output_padding=[0, 0], groups=1, "
      "output_mask=[false, true, true])",
      {grad, input, weight}, {wanted, at::empty({9})});
  ASSERT_TRUE(call.run());
  EXPECT_TRUE(call.results[0].equal(wanted));
  EXPECT_TRUE(call.results[1].equal(grad.sum({0, 2, 3})));

  input = at::randn({3, 40, 200});
  weight = at::randn({64, 40, 1});
  grad = at::randn({3, 64, 200});
  wanted = at::empty_like(input);
  pointwiseInputGrad(view(grad), view(weight), view(wanted));
  KernelCall flat(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, "
      "bias_sizes=[0], stride=[1], padding=[0], dilation=[1], "
      "transposed=false, output_padding=[0], groups=1, "
      "output_mask=[true, true, false])",
      {grad, input, weight}, {input, weight});
  ASSERT_TRUE(flat.run());
  EXPECT_TRUE(flat.results[0].equal(wanted));
  at::Tensor gradWeight =
      grad.transpose(0, 1).flatten(1).mm(input.transpose(0, 1).flatten(1).t());
  EXPECT_TRUE(flat.results[1].squeeze(-1).allclose(gradWeight, 1e-4, 1e-4));
}

} // namespace
