//===- kernels/convolution.h - Convolutions of our own ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "direct.h"

#include "ltc/optimizations.h"

namespace ltc::backend {

/// aten::convolution where there is a faster one than ATen's among those that
/// are allowed; null where there is none.
DirectCall convolutionCall(const Optimizations &allowed);

/// aten::convolution_backward, whose results are those that it is asked for.
DirectCall convolutionBackwardCall(const Optimizations &allowed);

} // namespace ltc::backend
