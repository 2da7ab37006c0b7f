//===- ops/fake_quantize.cpp - Observers that fake-quantize ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/fake_quantize.h"

#include "ltc_backend/library.h"

#include <ATen/ATen.h>
#include <ATen/ops/fused_moving_avg_obs_fake_quant_native.h>

#include <limits>

namespace ltc::backend {
using at::Tensor;

static Tensor observeAndQuantize(const Tensor &self, const Tensor &observes,
                                 const Tensor &quantizes, Tensor &runningMin,
                                 Tensor &runningMax, Tensor &scale,
                                 Tensor &zeroPoint, double averaging,
                                 int64_t lowest, int64_t highest, int64_t axis,
                                 bool isPerChannel, bool isSymmetric) {
  // Only the kernel can say what is wrong with an axis.
  bool isFirst = isPerChannel && self.device().is_lazy() &&
                 runningMin.numel() == 0 && axis >= 0 && axis < self.dim();
  if (isFirst && observes.item<bool>()) {
    at::NoGradGuard noGrad;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    int64_t channels = self.size(axis);
    runningMin.resize_({channels}).fill_(infinity);
    runningMax.resize_({channels}).fill_(-infinity);
    scale.resize_({channels}).fill_(1);
    zeroPoint.resize_({channels}).zero_();
  }
  return at::native::fused_moving_avg_obs_fake_quant(
      self, observes, quantizes, runningMin, runningMax, scale, zeroPoint,
      averaging, lowest, highest, axis, isPerChannel, isSymmetric);
}

void registerFakeQuantize() {
  using c10::DispatchKey;
  for (DispatchKey key :
       {DispatchKey::Functionalize, DispatchKey::AutogradLazy})
    makeLibrary("aten", key)
        ->impl("fused_moving_avg_obs_fake_quant", observeAndQuantize);
}

} // namespace ltc::backend
