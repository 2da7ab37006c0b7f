//===- depthwise.h - Convolutions of each channel alone ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel of an image, with zeros around it, is in a thread's cache while the
// window passes. oneDNN's kernels want the channels of a place together and
// copy all images for that, there and back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "patches.h"

#include "ltc/types.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Whether depthwise() and depthwiseInputGrad() are faster than oneDNN's on
/// this processor.
LTC_API bool depthwisePays(at::IntArrayRef input, const Window &window);
/// The same of depthwiseWeightGrad().
LTC_API bool depthwiseWeightGradPays(at::IntArrayRef input,
                                     const Window &window);

// Images are (N, C, H, W), weights (C, 1, R, S), outputs (N, C, Y, X); the
// dimensions of H, R and Y may be absent. All tensors are float32, dense and
// row-major, on the CPU. All run on ATen's threads, whose number changes no
// value. False: a value is not finite, and a zero around an image may have made
// it so; the result is to be computed in another way. Scratch stays with the
// threads: some four channels of an image each, which is 16 MiB at most of
// images that these pay for, and what is around them.

/// `bias` (C) may be undefined.
LTC_API bool depthwise(const at::Tensor &input, const at::Tensor &weight,
                       const at::Tensor &bias, const Window &window,
                       const at::Tensor &output);
LTC_API bool depthwiseInputGrad(const at::Tensor &grad,
                                const at::Tensor &weight, const Window &window,
                                const at::Tensor &gradInput);
LTC_API bool depthwiseWeightGrad(const at::Tensor &grad,
                                 const at::Tensor &input, const Window &window,
                                 const at::Tensor &gradWeight);

} // namespace ltc::backend
