//===- grouped.h - Convolutions of few channels at a time -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group's channels of an image, with zeros around them, are in a thread's
// cache while the window passes. oneDNN's kernels want the channels of a place
// together and copy all images for that, there and back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "patches.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Whether groupedConvolution() and groupedInputGrad() are faster than oneDNN's
/// on this processor, for a weight as below. Of what they pay for, a thread's
/// scratch is some MiB; 16, and what is around, where each channel is alone.
bool groupedPays(Sizes input, Sizes weight, int64_t groups,
                 const Window &window);
/// The same of groupedWeightGrad().
bool groupedWeightGradPays(Sizes input, Sizes weight, int64_t groups,
                           const Window &window);

// Images are (N, C, H, W), weights (K, C / groups, R, S), outputs (N, K, Y, X);
// the dimensions of H, R and Y may be absent. A window moves by two at most.
// All tensors are float32, dense and row-major, on the CPU. All run on the
// library's threads, whose number changes no value. False: a value is not
// finite, and a zero around an image may have made it so; the result is to be
// computed in another way. Scratch stays with the threads.

/// `bias` (K) may be undefined.
bool groupedConvolution(const TensorView &input, const TensorView &weight,
                        const TensorView &bias, int64_t groups,
                        const Window &window, const TensorView &output);
bool groupedInputGrad(const TensorView &grad, const TensorView &weight,
                      int64_t groups, const Window &window,
                      const TensorView &gradInput);
bool groupedWeightGrad(const TensorView &grad, const TensorView &input,
                       int64_t groups, const Window &window,
                       const TensorView &gradWeight);

} // namespace ltc::kernels
