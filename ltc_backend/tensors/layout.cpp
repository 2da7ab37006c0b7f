//===- tensors/layout.cpp - What strides() of a lazy tensor says ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/layout.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>

namespace ltc::backend {

bool isRowMajor(at::IntArrayRef sizes, at::IntArrayRef strides) {
  int64_t expected = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (strides[dim] != expected)
      return false;
    expected *= std::max<int64_t>(sizes[dim], 1);
  }
  return true;
}

Layout layoutOf(const at::Tensor &tensor) {
  at::IntArrayRef strides = tensor.strides();
  Layout layout;
  if (!isRowMajor(tensor.sizes(), strides))
    layout.strides = strides.vec();
  layout.offset = tensor.storage_offset();
  return layout;
}

Layout layoutOfCopy(const at::Tensor &source,
                    std::optional<at::MemoryFormat> format) {
  auto wanted = format.value_or(at::MemoryFormat::Preserve);
  if (wanted == at::MemoryFormat::Contiguous ||
      (wanted == at::MemoryFormat::Preserve &&
       isRowMajor(source.sizes(), source.strides())))
    return {};
  if (wanted != at::MemoryFormat::Preserve)
    return layoutOf(
        at::detail::empty_meta(source.sizes(), source.scalar_type(), wanted));
  // As empty_like() of a CPU does it; that of meta tensors is another where
  // there are no elements or sizes of 1.
  Layout layout;
  layout.strides =
      source.is_non_overlapping_and_dense()
          ? source.strides().vec()
          : at::infer_dense_strides(source.sizes(), source.strides());
  return layout;
}

void setLayout(c10::TensorImpl &bare, at::IntArrayRef sizes,
               const Layout &layout) {
  if (!layout.strides.empty())
    return setLayout(bare, sizes, layout.strides, layout.offset);
  bare.set_custom_sizes_strides(c10::TensorImpl::SizesStridesPolicy::Default);
  bare.set_sizes_contiguous(sizes);
  bare.set_storage_offset(layout.offset);
}

void setLayout(c10::TensorImpl &bare, at::IntArrayRef sizes,
               at::IntArrayRef strides, int64_t offset) {
  // Otherwise LTCTensorImpl makes strides up from the sizes when asked.
  bare.set_custom_sizes_strides(c10::TensorImpl::SizesStridesPolicy::Default);
  bare.set_sizes_and_strides(sizes, strides, offset);
}

at::Tensor metaLike(const at::Tensor &tensor) {
  at::ScalarType dtype = tensor.scalar_type();
  if (isRowMajor(tensor.sizes(), tensor.strides()))
    return at::detail::empty_meta(tensor.sizes(), dtype);
  return at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(),
                                        dtype);
}

at::Tensor lay(const at::Tensor &rowMajor, const Layout &layout) {
  if (layout.strides.empty())
    return rowMajor;
  return at::empty_strided(rowMajor.sizes(), layout.strides, rowMajor.options())
      .copy_(rowMajor);
}

} // namespace ltc::backend
