//===- view.h - Tensors as kernels see them ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"
#include "ltc_backend/convert.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend::test {

/// Valid while the tensor is. Of an undefined one, that of none.
inline KernelView view(const at::Tensor &tensor) {
  KernelView view;
  if (!tensor.defined())
    return view;
  view.data = const_cast<void *>(tensor.const_data_ptr());
  view.sizes = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.rank = uint32_t(tensor.dim());
  view.dtype = *toDType(tensor.scalar_type());
  return view;
}

} // namespace ltc::backend::test
