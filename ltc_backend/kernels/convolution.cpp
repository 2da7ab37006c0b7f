//===- kernels/convolution.cpp - Convolutions of our own ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution.h"

#include "../parallel.h"
#include "grouped.h"
#include "patch_convolution.h"
#include "patch_input_grad.h"
#include "patch_weight_grad.h"
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
        isTransposed(a[first + 3].toBool()), groups(a[first + 5].toInt()) {}

  bool pays(Winograd which, const at::Tensor &input,
            const at::Tensor &weight) const {
    return isPlain() && isOnes(stride) && isOnes(dilation) &&
           !padding.empty() && padding.front() == padding.back() &&
           winogradPays(which, input.sizes(), weight.sizes(), padding[0]);
  }

  bool isPlain() const { return !isTransposed && groups == 1; }
  /// Whether it is what is the gradient of a plain one's images.
  bool isTurned() const { return isTransposed && groups == 1; }
  bool isGrouped() const { return !isTransposed && groups > 1; }

  /// Nothing if there is none for WindowedImages.
  std::optional<Window> window(const at::Tensor &weight) const {
    size_t dims = weight.dim() - 2;
    if (dims < 1 || dims > 2 || stride.size() != dims ||
        padding.size() != dims || dilation.size() != dims)
      return std::nullopt;
    auto pair = [&](at::IntArrayRef list, int64_t absent) {
      return std::array{dims == 2 ? list[0] : absent, list.back()};
    };
    return Window{pair(weight.sizes().slice(2), 1), pair(stride, 1),
                  pair(padding, 0), pair(dilation, 1)};
  }

  const std::vector<int64_t> stride, padding, dilation;
  const bool isTransposed;
  const int64_t groups;
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
  auto window = im2col ? geometry.window(weight) : std::nullopt;
  if (window && geometry.isGrouped())
    return groupedPays(input.sizes(), weight.sizes(), geometry.groups,
                       *window) &&
           groupedConvolution(input, weight, bias, geometry.groups, *window,
                              results[0]);
  at::IntArrayRef output = results[0].sizes();
  if (window && geometry.isTurned() &&
      patchInputGradPays(output, input.sizes(), *window)) {
    patchInputGrad(input, weight, bias, *window, results[0]);
    return true;
  }
  return window && geometry.isPlain() &&
         patchesPay(input.sizes(), weight.sizes(), output, *window) &&
         patchConvolution(input, weight, bias, *window, results[0]);
}

/// Of `grad`, which has an element for each kernel at each place.
void biasGrad(const at::Tensor &grad, at::Tensor gradBias) {
  c10::DimVector others{0};
  for (int64_t d = 2; d < grad.dim(); ++d)
    others.push_back(d);
  at::sum_out(gradBias, grad, others);
}

/// Who computes a gradient.
enum class Way { None, Aten, Winograd, Own };

template <bool winograd, bool im2col>
bool tryConvolutionBackward(const Stack &a, c10::ArrayRef<at::Tensor> results,
                            const at::Generator &) {
  at::Tensor grad = a[0].toTensor();
  const at::Tensor &input = a[1].toTensor(), &weight = a[2].toTensor();
  Geometry geometry(a, 4);
  std::vector<bool> wanted = a[10].toBoolList().vec();
  auto window = im2col ? geometry.window(weight) : std::nullopt;
  at::IntArrayRef images = input.sizes(), kernels = weight.sizes(),
                  output = grad.sizes();
  bool isGrouped = window && geometry.isGrouped();
  bool isPlain = window && geometry.isPlain();
  bool isTurned = window && geometry.isTurned();
  bool isOfPoints =
      isPlain && window->isPointwise() && pointwisePays(output, weight.size(1));
  auto way = [&](bool isWanted, Winograd which, bool own) {
    if (!isWanted)
      return Way::None;
    if (winograd && geometry.pays(which, input, weight))
      return Way::Winograd;
    return own ? Way::Own : Way::Aten;
  };
  Way ofInput =
      way(wanted[0], Winograd::InputGrad,
          isOfPoints ||
              (isGrouped &&
               groupedPays(images, kernels, geometry.groups, *window)) ||
              (isPlain && patchInputGradPays(images, output, *window)) ||
              (isTurned && patchesPay(output, kernels, images, *window)));
  Way ofWeight = way(
      wanted[1], Winograd::WeightGrad,
      (isGrouped &&
       groupedWeightGradPays(images, kernels, geometry.groups, *window)) ||
          (isPlain && patchWeightGradPays(images, kernels, output, *window)) ||
          (isTurned && patchWeightGradPays(output, kernels, images, *window)));
  auto isOurs = [](Way way) { return way == Way::Winograd || way == Way::Own; };
  if ((!isOurs(ofInput) && !isOurs(ofWeight)) || !areDense({input, weight}) ||
      !areDense(results) || grad.scalar_type() != at::kFloat)
    return false;
  // As from a network that has its channels last in between. ATen would copy it
  // too.
  if (!areDense({grad})) {
    prepareForAten();
    grad = grad.contiguous();
  }

  size_t next = 0;
  at::Tensor gradInput = wanted[0] ? results[next++] : at::Tensor(),
             gradWeight = wanted[1] ? results[next++] : at::Tensor();
  int64_t padding = geometry.padding[0];
  if (ofInput == Way::Winograd &&
      !winogradInputGrad(grad, weight, padding, gradInput))
    return false;
  auto ownInputGrad = [&] {
    if (isGrouped)
      return groupedInputGrad(grad, weight, geometry.groups, *window,
                              gradInput);
    if (isTurned)
      return patchConvolution(grad, weight, {}, *window, gradInput);
    if (isOfPoints)
      pointwiseInputGrad(grad, weight, gradInput);
    else
      patchInputGrad(grad, weight, {}, *window, gradInput);
    return true;
  };
  if (ofInput == Way::Own && !ownInputGrad())
    return false;
  if (ofWeight == Way::Winograd &&
      !winogradWeightGrad(grad, input, padding, gradWeight))
    return false;
  auto ownWeightGrad = [&] {
    if (isGrouped)
      return groupedWeightGrad(grad, input, geometry.groups, *window,
                               gradWeight);
    return isTurned ? patchWeightGrad(input, grad, *window, gradWeight)
                    : patchWeightGrad(grad, input, *window, gradWeight);
  };
  if (ofWeight == Way::Own && !ownWeightGrad())
    return false;
  prepareForAten();
  if (wanted[2])
    biasGrad(grad, results[next]);
  std::array<bool, 3> left = {ofInput == Way::Aten, ofWeight == Way::Aten,
                              false};
  if (!left[0] && !left[1])
    return true;
  auto [leftInput, leftWeight, none] = at::convolution_backward(
      grad, input, weight, std::nullopt, geometry.stride, geometry.padding,
      geometry.dilation, geometry.isTransposed, a[8].toIntVector(),
      geometry.groups, left);
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
  if (allowed.winograd)
    return allowed.im2col ? tryConvolutionBackward<true, true>
                          : tryConvolutionBackward<true, false>;
  return allowed.im2col ? tryConvolutionBackward<false, true> : nullptr;
}

} // namespace ltc::backend
