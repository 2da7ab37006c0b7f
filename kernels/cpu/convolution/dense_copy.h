//===- dense_copy.h - A row-major tensor of another's values ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include <memory>
#include <vector>

namespace ltc::kernels {

/// Float32 images (N, C, ...): themselves where they are dense, else a copy.
class DenseCopy {
public:
  explicit DenseCopy(const TensorView &of);

  /// Valid as long as this is.
  TensorView view() const { return dense; }

private:
  void copyImage(const TensorView &of, int64_t image) const;

  TensorView dense;
  std::vector<int64_t> strides;
  std::unique_ptr<float[]> memory;
};

} // namespace ltc::kernels
