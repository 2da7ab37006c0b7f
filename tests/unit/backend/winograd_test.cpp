//===- winograd_test.cpp - Convolutions against float64 ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/convolution/winograd.h"

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

/// A convolution and its gradients by Winograd's method.
struct Results {
  Results(const at::Tensor &input, const at::Tensor &weight,
          const at::Tensor &bias, int64_t padding, const at::Tensor &grad)
      : output(grad.sizes()), gradInput(input.sizes()),
        gradWeight(weight.sizes()) {
    finite = winogradConvolution(view(input), view(weight), view(bias), padding,
                                 view(output.inside)) &&
             winogradInputGrad(view(grad), view(weight), padding,
                               view(gradInput.inside)) &&
             winogradWeightGrad(view(grad), view(input), padding,
                                view(gradWeight.inside));
  }
  std::vector<at::Tensor> tensors() const {
    return {output.inside, gradInput.inside, gradWeight.inside};
  }

  Guarded output, gradInput, gradWeight;
  bool finite;
};

/// The same in float64.
std::vector<at::Tensor> exact(at::Tensor input, at::Tensor weight,
                              const at::Tensor &bias, int64_t padding,
                              at::Tensor grad) {
  input = input.to(at::kDouble);
  weight = weight.to(at::kDouble);
  at::Tensor output = at::conv2d(
      input, weight, bias.defined() ? bias.to(at::kDouble) : bias, 1, padding);
  auto [gradInput, gradWeight, none] = at::convolution_backward(
      grad.to(at::kDouble), input, weight, std::nullopt, {1, 1},
      {padding, padding}, {1, 1}, false, {0, 0}, 1, {true, true, false});
  return {output, gradInput, gradWeight};
}

class Winograd2d : public VectorsTest {};

at::Tensor gradFor(const at::Tensor &input, const at::Tensor &weight,
                   int64_t padding) {
  return at::randn({input.size(0), weight.size(0),
                    input.size(2) + 2 * padding - 2,
                    input.size(3) + 2 * padding - 2});
}

// Odd and even sizes, panels of channels that are full or not, several passes,
// blocks that hold parts of images or several of them.
TEST_F(Winograd2d, IsTheConvolution) {
  for (auto [images, in, out, height, width, padding] :
       {std::tuple{1, 16, 16, 3, 3, 0},
        {2, 16, 48, 1, 2, 1},
        {3, 64, 32, 7, 9, 1},
        {2, 96, 160, 8, 5, 2},
        {9, 128, 64, 6, 6, 1},
        {2, 80, 64, 40, 70, 1},
        {1, 16, 32, 5, 300, 0},
        {20, 256, 64, 6, 6, 1}}) {
    at::Tensor input = at::randn({images, in, height, width}),
               weight = at::randn({out, in, 3, 3}), bias = at::randn({out}),
               grad = gradFor(input, weight, padding);
    Results found(input, weight, bias, padding, grad);
    EXPECT_TRUE(found.finite);
    EXPECT_TRUE(found.output.isUntouched());
    EXPECT_TRUE(found.gradInput.isUntouched());
    EXPECT_TRUE(found.gradWeight.isUntouched());
    auto wanted = exact(input, weight, bias, padding, grad);
    for (size_t i = 0; i < wanted.size(); ++i) {
      at::Tensor error =
          (found.tensors()[i].to(at::kDouble) - wanted[i]).abs().max();
      // What sums of some thousand random terms lose, of the largest of them.
      EXPECT_LE(error.item<double>(),
                2e-6 * wanted[i].abs().max().item<double>())
          << "result " << i << " of " << input.sizes() << " by "
          << weight.sizes();
    }
  }
}

/// Bit for bit, where another sum would round differently.
TEST_F(Winograd2d, IsWhatAGraphCalls) {
  at::Tensor input = at::randn({4, 64, 16, 16}),
             weight = at::randn({64, 64, 3, 3}),
             grad = gradFor(input, weight, 1);
  Results wanted(input, weight, {}, 1, grad);
  const std::string rest = "stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
                           "transposed=false, output_padding=[0, 0], groups=1";
  KernelCall forward("aten::convolution(input=%0, weight=%1, " + rest + ")",
                     {input, weight}, {at::empty_like(grad)});
  ASSERT_TRUE(forward.run());
  EXPECT_TRUE(forward.results[0].equal(wanted.output.inside));
  KernelCall backward(
      "aten::convolution_backward(grad_output=%0, input=%1, weight=%2, " +
          rest + ", output_mask=[true, true, false])",
      {grad, input, weight}, {at::empty_like(input), at::empty_like(weight)});
  ASSERT_TRUE(backward.run());
  EXPECT_TRUE(backward.results[0].equal(wanted.gradInput.inside));
  EXPECT_TRUE(backward.results[1].equal(wanted.gradWeight.inside));
}

TEST_F(Winograd2d, GivesTheSameOnAnyNumberOfThreads) {
  at::Tensor input = at::randn({5, 64, 30, 31}),
             weight = at::randn({96, 64, 3, 3}),
             grad = gradFor(input, weight, 1);
  int threads = at::get_num_threads();
  at::set_num_threads(1);
  noteThreadCount();
  Results one(input, weight, {}, 1, grad);
  for (int several : {2, 3, 5}) {
    at::set_num_threads(several);
    noteThreadCount();
    Results shared(input, weight, {}, 1, grad);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(one.tensors()[i].equal(shared.tensors()[i])) << several;
  }
  at::set_num_threads(threads);
  noteThreadCount();
}

TEST_F(Winograd2d, SaysWhenAValueIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float value : {kInfinity, -kInfinity, kInfinity - kInfinity, 3e38f}) {
    at::Tensor input = at::randn({2, 32, 6, 6}),
               weight = at::ones({32, 32, 3, 3}),
               output = at::empty_like(input);
    input.index_put_(
        {at::tensor(1), at::tensor(31), at::tensor(5), at::tensor(5)},
        at::scalar_tensor(value));
    EXPECT_FALSE(winogradWeightGrad(view(input), view(input), 1,
                                    view(at::empty_like(weight))));
    EXPECT_FALSE(winogradConvolution(view(input), view(weight * 9), {}, 1,
                                     view(output)));
    EXPECT_FALSE(
        winogradInputGrad(view(input), view(weight * 9), 1, view(output)));
  }
}

} // namespace
