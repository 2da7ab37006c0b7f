//===- patch_convolution.h - Convolutions as products -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weight, read where it lies, times the patches that the window sees
// (im2col), of which a few panels exist at a time. oneDNN's kernels want the
// weight and the images in an order of their own, which takes them longer than
// the sums where images are small, and is done anew at each call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "patches.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Whether patchConvolution() is for such tensors, on this processor.
bool patchesCan(Sizes weight, Sizes output, const Window &window);

/// Whether it is, and is faster than oneDNN's on this processor, for a
/// weight (K, C, rows, columns) or (K, C, columns).
bool patchesPay(Sizes input, Sizes weight, Sizes output, const Window &window);

/// Images (N, C, H, W) by a weight (K, C, R, S) give `output` (N, K, Y, X); the
/// dimensions of H, R and Y may be absent. `bias` (K) may be undefined. All
/// tensors are float32, dense and row-major, on the CPU. Runs on the library's
/// threads, whose number changes no value. False: a value is not finite, and a
/// zero around an image may have made it so; what was written is to be computed
/// in another way. Scratch stays with the threads: 1.3 MiB at most, and 8 MiB
/// on the calling one.
bool patchConvolution(const TensorView &input, const TensorView &weight,
                      const TensorView &bias, const Window &window,
                      const TensorView &output);

/// Whether pointwiseInputGrad() is faster than oneDNN's on this processor, of
/// so many `channels`.
bool pointwisePays(Sizes grad, int64_t channels);

/// The gradient of images by a weight (K, C, 1, 1) in a window that moves by
/// one, from that of the output. All else as above; zeros there are none.
void pointwiseInputGrad(const TensorView &grad, const TensorView &weight,
                        const TensorView &gradInput);

} // namespace ltc::kernels
