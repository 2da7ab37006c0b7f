//===- window_case.h - Sizes of a convolution -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kernels/cpu/convolution/patches.h"

#include <ATen/ATen.h>

namespace ltc::backend::test {

struct WindowCase {
  std::vector<int64_t> input, weight;
  kernels::Window window; ///< without its size
};

/// A gradient of the output's.
inline at::Tensor gradOf(const WindowCase &of) {
  at::Tensor output =
      at::conv2d(at::empty(of.input), at::empty(of.weight), {},
                 of.window.stride, of.window.padding, of.window.dilation);
  return at::randn(output.sizes());
}

} // namespace ltc::backend::test
