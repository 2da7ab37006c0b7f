//===- kernels/convolution.h - Convolutions of our own ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "direct.h"

namespace ltc::backend {

/// aten::convolution where winograd.h has a faster one, or false.
bool tryConvolution(const Stack &arguments, c10::ArrayRef<at::Tensor> results,
                    const at::Generator &);

/// aten::convolution_backward, whose results are those that it is asked for.
bool tryConvolutionBackward(const Stack &arguments,
                            c10::ArrayRef<at::Tensor> results,
                            const at::Generator &);

} // namespace ltc::backend
