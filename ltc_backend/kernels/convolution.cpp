//===- kernels/convolution.cpp - Convolutions of our own ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution.h"

#include "../parallel.h"
#include "patch_convolution.h"
#include "winograd.h"

#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <array>
#include <optional>

namespace ltc::backend {
namespace {

bool isOnes(at::IntArrayRef list) {
  return std::ranges::all_of(list, [](int64_t value) { return value == 1; });
}

bool areDense(c10::ArrayRef<at::Tensor> tensors) {
  return std::ranges::all_of(tensors, [](const at::Tensor &t) {
    return t.scalar_type() == at::kFloat && t.is_contiguous();
  });
}

/// The stride and all else of a convolution, from argument `first` on.
struct Geometry {
  Geometry(const Stack &a, size_t first)
      : stride(a[first].toIntVector()), padding(a[first + 1].toIntVector()),
        dilation(a[first + 2].toIntVector()),
        isDirect(!a[first + 3].toBool() && a[first + 5].toInt() == 1) {}

  bool pays(Winograd which, const at::Tensor &input,
            const at::Tensor &weight) const {
    return isDirect && isOnes(stride) && isOnes(dilation) && !padding.empty() &&
           padding.front() == padding.back() &&
           winogradPays(which, input.sizes(), weight.sizes(), padding[0]);
  }

  /// Where there is one that patchConvolution() is the faster way for.
  std::optional<Window> window(const at::Tensor &input,
                               const at::Tensor &weight,
                               const at::Tensor &output) const {
    size_t dims = weight.dim() - 2;
    if (!isDirect || dims < 1 || dims > 2 || stride.size() != dims ||
        padding.size() != dims || dilation.size() != dims)
      return std::nullopt;
    auto pair = [&](at::IntArrayRef list, int64_t absent) {
      return std::array{dims == 2 ? list[0] : absent, list.back()};
    };
    Window window{pair(weight.sizes().slice(2), 1), pair(stride, 1),
                  pair(padding, 0), pair(dilation, 1)};
    if (!patchesPay(input.sizes(), weight.sizes(), output.sizes(), window))
      return std::nullopt;
    return window;
  }

  const std::vector<int64_t> stride, padding, dilation;
  const bool isDirect; ///< not transposed or grouped
};

template <bool winograd, bool im2col>
bool tryConvolution(const Stack &a, c10::ArrayRef<at::Tensor> results,
                    const at::Generator &) {
  const at::Tensor &input = a[0].toTensor(), &weight = a[1].toTensor();
  at::Tensor bias = a[2].isNone() ? at::Tensor() : a[2].toTensor();
  if (!areDense({input, weight, results[0]}) ||
      (bias.defined() && !areDense({bias})))
    return false;
  Geometry geometry(a, 3);
  if (winograd && geometry.pays(Winograd::Convolution, input, weight))
    return winogradConvolution(input, weight, bias, geometry.padding[0],
                               results[0]);
  auto window =
      im2col ? geometry.window(input, weight, results[0]) : std::nullopt;
  return window && patchConvolution(input, weight, bias, *window, results[0]);
}

bool tryConvolutionBackward(const Stack &a, c10::ArrayRef<at::Tensor> results,
                            const at::Generator &) {
  const at::Tensor &grad = a[0].toTensor(), &input = a[1].toTensor(),
                   &weight = a[2].toTensor();
  Geometry geometry(a, 4);
  std::vector<bool> wanted = a[10].toBoolList().vec();
  bool ofInput = wanted[0] && geometry.pays(Winograd::InputGrad, input, weight);
  bool ofWeight =
      wanted[1] && geometry.pays(Winograd::WeightGrad, input, weight);
  if ((!ofInput && !ofWeight) || !areDense({grad, input, weight}) ||
      !areDense(results))
    return false;

  size_t next = 0;
  at::Tensor gradInput = wanted[0] ? results[next++] : at::Tensor(),
             gradWeight = wanted[1] ? results[next++] : at::Tensor();
  int64_t padding = geometry.padding[0];
  if (ofInput && !winogradInputGrad(grad, weight, padding, gradInput))
    return false;
  if (ofWeight && !winogradWeightGrad(grad, input, padding, gradWeight))
    return false;
  prepareForAten();
  if (wanted[2]) {
    at::Tensor gradBias = results[next];
    at::sum_out(gradBias, grad, {0, 2, 3});
  }
  std::array<bool, 3> left = {wanted[0] && !ofInput, wanted[1] && !ofWeight,
                              false};
  if (!left[0] && !left[1])
    return true;
  auto [leftInput, leftWeight, none] = at::convolution_backward(
      grad, input, weight, std::nullopt, {1, 1}, {padding, padding}, {1, 1},
      /*transposed=*/false, {0, 0}, /*groups=*/1, left);
  if (left[0])
    gradInput.copy_(leftInput);
  if (left[1])
    gradWeight.copy_(leftWeight);
  return true;
}

} // namespace

DirectCall convolutionCall(const Optimizations &allowed) {
  if (allowed.winograd)
    return allowed.im2col ? tryConvolution<true, true>
                          : tryConvolution<true, false>;
  return allowed.im2col ? tryConvolution<false, true> : nullptr;
}

DirectCall convolutionBackwardCall(const Optimizations &allowed) {
  return allowed.winograd ? tryConvolutionBackward : nullptr;
}

} // namespace ltc::backend
