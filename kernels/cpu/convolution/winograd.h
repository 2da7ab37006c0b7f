//===- winograd.h - Convolutions of 3x3 with fewer products -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) of A. Lavin and S. Gray, "Fast Algorithms for Convolutional
// Neural Networks" (2015): 16 products for four sums of nine. Places where the
// transforms are evaluated are 0, 1, -1 and infinity, so that values are only
// added, and halved, before and after; the sums are no less exact than direct
// ones of as many terms. docs/decisions/0016-winograd.md says more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// Images (N, C, H, W) by a weight (K, C, 3, 3), stride 1, so many rows and
/// columns of zeros around each image: (N, K, H + 2 padding - 2,
/// W + 2 padding - 2). All tensors are float32, dense and row-major, on the
/// CPU.
///
/// The three below run on the library's threads, whose number changes no value.
/// False: a value is not finite, and an infinity may have become NaN on the
/// way; what was written is to be computed in another way. Scratch stays with
/// the threads: 1 MiB on each, and on the calling one what a call needs, 64
/// bytes for each of K C and 4 MiB, of each thread's share the most so far;
/// with what winogradPays() accepts a call needs at most 64 MiB and 1.5 MiB.

enum class Winograd { Convolution, InputGrad, WeightGrad };

/// Whether `which` is faster than oneDNN's on this processor, for an input and
/// a weight of these sizes.
bool winogradPays(Winograd which, Sizes input, Sizes weight, int64_t padding);

/// `bias` (K) may be undefined.
bool winogradConvolution(const TensorView &input, const TensorView &weight,
                         const TensorView &bias, int64_t padding,
                         const TensorView &output);

bool winogradInputGrad(const TensorView &gradOutput, const TensorView &weight,
                       int64_t padding, const TensorView &gradInput);

bool winogradWeightGrad(const TensorView &gradOutput, const TensorView &input,
                        int64_t padding, const TensorView &gradWeight);

} // namespace ltc::kernels
