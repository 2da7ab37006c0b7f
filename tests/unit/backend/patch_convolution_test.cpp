//===- patch_convolution_test.cpp - Against float64 -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/convolution/patch_convolution.h"

#include "kernel_call.h"
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

class PatchConvolution : public VectorsTest {};

at::Tensor aten(const at::Tensor &input, const at::Tensor &weight,
                const at::Tensor &bias, const Window &window) {
  return at::conv2d(input, weight, bias, window.stride, window.padding,
                    window.dilation);
}

using Case = ltc::backend::test::WindowCase;

// Images that are larger than a panel, or smaller; few panels or many; one pass
// or several of depth; kernels that fill blocks or not; windows that see
// outside of the image only.
const std::vector<Case> kCases = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{3, 5, 7, 6}, {9, 5, 3, 3}, {{}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 4, 20, 33}, {70, 4, 3, 2}, {{}, {2, 3}, {1, 0}, {1, 1}}},
    {{8, 200, 3, 3}, {65, 200, 3, 3}, {{}, {1, 1}, {1, 1}, {1, 1}}},
    {{5, 3, 17, 16}, {8, 3, 7, 7}, {{}, {2, 2}, {3, 3}, {1, 1}}},
    {{2, 16, 12, 14}, {32, 16, 3, 3}, {{}, {1, 2}, {4, 2}, {2, 3}}},
    {{1, 300, 8, 8}, {20, 300, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{2, 3, 64, 96}, {40, 3, 16, 32}, {{}, {16, 32}, {0, 0}, {1, 1}}},
    {{3, 70, 20, 33}, {130, 70, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{200, 40, 2, 5}, {70, 40, 1, 1}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{2, 40, 21, 33}, {70, 40, 1, 1}, {{}, {2, 2}, {0, 0}, {1, 1}}},
    {{1, 2, 4, 4}, {3, 2, 1, 1}, {{}, {1, 1}, {3, 5}, {1, 1}}},
    {{700, 130, 3, 3}, {16, 130, 2, 2}, {{}, {1, 1}, {0, 0}, {1, 1}}},
    {{1, 150, 60, 90}, {33, 150, 3, 3}, {{}, {1, 1}, {1, 1}, {1, 1}}}};

TEST_F(PatchConvolution, IsTheConvolution) {
  for (auto [sizes, kernels, window] : kCases) {
    window.size = {kernels[2], kernels[3]};
    at::Tensor input = at::randn(sizes), weight = at::randn(kernels),
               bias = at::randn({kernels[0]});
    at::Tensor wanted = aten(input.to(at::kDouble), weight.to(at::kDouble),
                             bias.to(at::kDouble), window);
    Guarded found(wanted.sizes());
    EXPECT_TRUE(patchConvolution(view(input), view(weight), view(bias), window,
                                 view(found.inside)));
    EXPECT_TRUE(found.isUntouched());
    at::Tensor error = (found.inside.to(at::kDouble) - wanted).abs().max();
    EXPECT_LE(error.item<double>(), 1e-6 * wanted.abs().max().item<double>())
        << sizes << " by " << kernels;
  }
}

TEST_F(PatchConvolution, OfPointsHasTheImagesGradient) {
  for (auto [sizes, kernels, window] : kCases) {
    window.size = {kernels[2], kernels[3]};
    if (!window.isPointwise())
      continue;
    at::Tensor weight = at::randn(kernels), images = at::empty(sizes),
               grad = at::randn({sizes[0], kernels[0], sizes[2], sizes[3]});
    at::Tensor wanted =
        at::conv_transpose2d(grad.to(at::kDouble), weight.to(at::kDouble));
    Guarded found(sizes);
    pointwiseInputGrad(view(grad), view(weight), view(found.inside));
    EXPECT_TRUE(found.isUntouched());
    at::Tensor error = (found.inside.to(at::kDouble) - wanted).abs().max();
    EXPECT_LE(error.item<double>(), 1e-6 * wanted.abs().max().item<double>())
        << sizes << " by " << kernels;
  }
}

/// Bit for bit, where oneDNN would round differently.
TEST_F(PatchConvolution, IsWhatAGraphCalls) {
  at::Tensor input = at::randn({2, 64, 9, 30}),
             weight = at::randn({48, 64, 3, 5}), bias = at::randn({48});
  Window window{{3, 5}, {1, 2}, {1, 0}, {2, 1}};
  at::Tensor wanted = at::empty_like(aten(input, weight, bias, window));
  ASSERT_TRUE(patchConvolution(view(input), view(weight), view(bias), window,
                               view(wanted)));
  KernelCall call("aten::convolution(input=%0, weight=%1, bias=%2, "
                  "stride=[1, 2], padding=[1, 0], dilation=[2, 1], "
                  "transposed=false, output_padding=[0, 0], groups=1)",
                  {input, weight, bias}, {wanted});
  ASSERT_TRUE(call.run());
  EXPECT_TRUE(call.results[0].equal(wanted));

  // Without lines, as of sound.
  input = at::randn({3, 40, 200});
  weight = at::randn({64, 40, 10});
  wanted = at::empty({3, 64, 39});
  ASSERT_TRUE(patchConvolution(view(input), view(weight), {},
                               {{1, 10}, {1, 5}, {0, 2}, {1, 1}},
                               view(wanted)));
  KernelCall flat("aten::convolution(input=%0, weight=%1, stride=[5], "
                  "padding=[2], dilation=[1], transposed=false, "
                  "output_padding=[0], groups=1)",
                  {input, weight}, {wanted});
  ASSERT_TRUE(flat.run());
  EXPECT_TRUE(flat.results[0].equal(wanted));
}

TEST_F(PatchConvolution, GivesTheSameOnAnyNumberOfThreads) {
  int threads = at::get_num_threads();
  for (auto [sizes, kernels, window] : kCases) {
    window.size = {kernels[2], kernels[3]};
    at::Tensor input = at::randn(sizes), weight = at::randn(kernels);
    at::Tensor one = at::empty_like(aten(input, weight, {}, window)),
               three = at::empty_like(one);
    at::set_num_threads(1);
    noteThreadCount();
    EXPECT_TRUE(
        patchConvolution(view(input), view(weight), {}, window, view(one)));
    at::set_num_threads(3);
    noteThreadCount();
    EXPECT_TRUE(
        patchConvolution(view(input), view(weight), {}, window, view(three)));
    EXPECT_TRUE(one.equal(three));
  }
  at::set_num_threads(threads);
  noteThreadCount();
}

TEST_F(PatchConvolution, SaysWhenAValueIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  for (int64_t size : {3, 9})
    for (float value : {kInfinity, -kInfinity, kInfinity - kInfinity}) {
      at::Tensor input = at::randn({2, 4, size, size}),
                 weight = at::ones({8, 4, 3, 3}),
                 output = at::empty({2, 8, size, size});
      EXPECT_TRUE(patchConvolution(view(input), view(weight), {}, window,
                                   view(output)));
      // Seen by the last place only through a zero beside the image.
      weight.index_put_(
          {at::tensor(7), at::tensor(3), at::tensor(2), at::tensor(2)},
          at::scalar_tensor(value));
      EXPECT_FALSE(patchConvolution(view(input), view(weight), {}, window,
                                    view(output)));
    }
}

} // namespace
