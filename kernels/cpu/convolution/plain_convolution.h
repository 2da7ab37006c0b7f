//===- plain_convolution.h - Convolutions of any geometry -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "convolution/geometry.h"

namespace ltc::kernels {

/// Writes it to `output`, sum by sum, or says false: of other types than
/// float32 and float64, or more than three dimensions.
bool plainConvolution(const TensorView &input, const TensorView &weight,
                      const TensorView &bias, const Geometry &geometry,
                      const TensorView &output);

} // namespace ltc::kernels
