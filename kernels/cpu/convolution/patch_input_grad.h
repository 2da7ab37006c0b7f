//===- patch_input_grad.h - Gradients of convolutions' images ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weight, turned over, times the gradient of the output are the gradients
// of patches, which are added to where the window read them. It is also what a
// transposed convolution computes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "patches.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Whether patchInputGrad() is faster than oneDNN's on this processor.
bool patchInputGradPays(Sizes input, Sizes grad, const Window &window);

/// Of the gradient (N, K, Y, X) of what a weight (K, C, R, S) made of images
/// (N, C, H, W), the gradient of those; the dimensions of H, Y and R may be
/// absent. `bias` (C), which may be undefined, is added to it. All tensors are
/// float32, dense and row-major, on the CPU. Runs on the library's threads,
/// whose number changes no value. Scratch stays with the threads, at most 1 MiB
/// each for a gradient of 2048 channels; while it runs there is a copy of the
/// weight.
void patchInputGrad(const TensorView &grad, const TensorView &weight,
                    const TensorView &bias, const Window &window,
                    const TensorView &gradInput);

} // namespace ltc::kernels
