//===- unfolded_convolution.h - Convolutions as products --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "convolution/geometry.h"

namespace ltc::kernels {

/// Writes it to `output` by gemm(), from columns of what each place's window
/// reads; for a process without another library. False: of other tensors than
/// dense float32 ones, transposed, of more than three dimensions, or a
/// processor without vectors. Scratch is 1 MiB, or 256 columns.
bool unfoldedConvolution(const TensorView &input, const TensorView &weight,
                         const TensorView &bias, const Geometry &geometry,
                         const TensorView &output);

} // namespace ltc::kernels
