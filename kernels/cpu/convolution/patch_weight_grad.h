//===- patch_weight_grad.h - Gradients of convolutions' weights -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of the output times the patches that the window sees, over all
// places. Where images are large: see isMapped().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "patches.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Whether patchWeightGrad() is faster than oneDNN's on this processor.
bool patchWeightGradPays(Sizes input, Sizes weight, Sizes grad,
                         const Window &window);

/// Of images (N, C, H, W) and the gradient (N, K, Y, X) of what a weight made
/// of them, the gradient (K, C, R, S) of that; the dimensions of H, Y and R may
/// be absent. All tensors are float32, dense and row-major, on the CPU. Runs on
/// the library's threads, whose number changes no value. False: a value is not
/// finite, and a zero around an image may have made it so; the result is to be
/// computed in another way. Scratch stays with the threads, 0.6 MiB each; while
/// it runs there are 16 MiB more, or as much as the result has.
bool patchWeightGrad(const TensorView &grad, const TensorView &input,
                     const Window &window, const TensorView &gradWeight);

} // namespace ltc::kernels
