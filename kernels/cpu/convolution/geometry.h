//===- geometry.h - What a convolution's attributes say ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "arguments.h"
#include "convolution/patches.h"
#include "convolution/winograd.h"

#include <algorithm>
#include <optional>

namespace ltc::kernels {

/// The stride and all else of a convolution.
struct Geometry {
  explicit Geometry(const Arguments &of)
      : stride(of.integers("stride")), padding(of.integers("padding")),
        dilation(of.integers("dilation")), isTransposed(of.flag("transposed")),
        groups(of.integer("groups", 1)) {}

  bool pays(Winograd which, const TensorView &input,
            const TensorView &weight) const {
    auto isOne = [](int64_t value) { return value == 1; };
    return isPlain() && std::ranges::all_of(stride, isOne) &&
           std::ranges::all_of(dilation, isOne) && !padding.empty() &&
           padding.front() == padding.back() &&
           winogradPays(which, input.shape(), weight.shape(), padding[0]);
  }

  bool isPlain() const { return !isTransposed && groups == 1; }
  /// Whether it is what is the gradient of a plain one's images.
  bool isTurned() const { return isTransposed && groups == 1; }
  bool isGrouped() const { return !isTransposed && groups > 1; }

  /// Nothing if there is none for WindowedImages.
  std::optional<Window> window(const TensorView &weight) const {
    size_t dims = weight.rank - 2;
    if (dims < 1 || dims > 2 || stride.size() != dims ||
        padding.size() != dims || dilation.size() != dims)
      return std::nullopt;
    auto pair = [&](Sizes list, int64_t absent) {
      return std::array{dims == 2 ? list[0] : absent, list.back()};
    };
    return Window{pair(weight.shape().subspan(2), 1), pair(stride, 1),
                  pair(padding, 0), pair(dilation, 1)};
  }

  const std::vector<int64_t> stride, padding, dilation;
  const bool isTransposed;
  const int64_t groups;
};

/// Float32 and row-major, or left out.
inline bool areDense(Views tensors) {
  return std::ranges::all_of(tensors, [](const TensorView &t) {
    return !t.isDefined() || (t.dtype == DType::F32 && t.isDense());
  });
}

} // namespace ltc::kernels
