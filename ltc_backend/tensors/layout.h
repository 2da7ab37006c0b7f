//===- tensors/layout.h - What strides() of a lazy tensor says --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a lazy tensor is row-major, always. Strides and offset are kept
// beside it as eager PyTorch would have them, because programs and PyTorch's
// own kernels ask: contiguous() and reshape() return an alias or a copy by
// them, and results take the memory format of their operands.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <vector>

namespace ltc::backend {

struct Layout {
  std::vector<int64_t> strides; ///< in elements; empty means row-major
  int64_t offset = 0;           ///< into the storage, in elements
};

/// The layout that a tensor reports.
Layout layoutOf(const at::Tensor &tensor);
/// The layout of torch.empty_like(source, memory_format=...): a copy's.
Layout layoutOfCopy(const at::Tensor &source,
                    std::optional<at::MemoryFormat> format);

bool isRowMajor(at::IntArrayRef sizes, at::IntArrayRef strides);

/// The CPU tensor with these strides in memory.
at::Tensor lay(const at::Tensor &rowMajor, const Layout &layout);

/// Makes a bare lazy tensor report these. Its memory stays as it is.
void setLayout(c10::TensorImpl &bare, at::IntArrayRef sizes,
               const Layout &layout);
void setLayout(c10::TensorImpl &bare, at::IntArrayRef sizes,
               at::IntArrayRef strides, int64_t offset);

/// A meta tensor of the same dtype, sizes and strides.
at::Tensor metaLike(const at::Tensor &tensor);

} // namespace ltc::backend
