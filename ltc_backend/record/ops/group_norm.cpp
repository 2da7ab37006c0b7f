//===- ops/group_norm.cpp - Group norm of channels_last -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/group_norm.h"

#include "ltc_backend/library.h"

#include <ATen/ATen.h>
#include <ATen/ops/group_norm_native.h>

namespace ltc::backend {
using at::Tensor;

static bool isPerChannel(const std::optional<Tensor> &tensor, int64_t size) {
  return !tensor || !tensor->defined() ||
         (tensor->dim() == 1 && tensor->numel() == size);
}

/// PyTorch's formula for the gradient asks if the input is on the CPU before it
/// keeps its layout.
static Tensor keepGradientsLayout(const Tensor &input,
                                  at::MemoryFormat format) {
  Tensor laid = input.contiguous(format);
  if (!at::GradMode::is_enabled() || !laid.requires_grad())
    return laid;
  laid = laid.view(laid.sizes()); // the hook is not to be on the user's tensor
  laid.register_hook(
      [format](const Tensor &gradient) { return gradient.contiguous(format); });
  return laid;
}

static Tensor groupNorm(const Tensor &input, int64_t groups,
                        const std::optional<Tensor> &weight,
                        const std::optional<Tensor> &bias, double eps,
                        bool cudnn) {
  at::MemoryFormat format = input.suggest_memory_format();
  // What is wrong with its arguments the composite kernel says itself.
  bool stock = format == at::MemoryFormat::Contiguous || groups <= 0 ||
               input.size(1) % groups != 0 ||
               !isPerChannel(weight, input.size(1)) ||
               !isPerChannel(bias, input.size(1));
  if (stock)
    return at::native::group_norm(input, groups, weight, bias, eps, cudnn);
  int64_t batch = input.size(0), channels = input.size(1);
  int64_t positions = c10::multiply_integers(input.sizes().slice(2));
  return std::get<0>(at::native_group_norm(keepGradientsLayout(input, format),
                                           weight, bias, batch, channels,
                                           positions, groups, eps));
}

void registerGroupNorm(torch::Library &library) {
  library.impl("group_norm", groupNorm);
  makeLibrary("aten", c10::DispatchKey::AutogradLazy)
      ->impl("group_norm", groupNorm);
}

} // namespace ltc::backend
