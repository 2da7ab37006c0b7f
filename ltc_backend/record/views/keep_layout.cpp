//===- views/keep_layout.cpp - Writes that leave strides alone ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/keep_layout.h"

namespace ltc::backend {
namespace functional = at::functionalization;

functional::FunctionalStorageImpl &storageOf(const at::Tensor &view) {
  return static_cast<functional::FunctionalStorageImpl &>(
      *view.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

static bool reports(const at::Tensor &tensor, const Layout &layout) {
  at::IntArrayRef strides = tensor.strides();
  if (tensor.storage_offset() != layout.offset)
    return false;
  return layout.strides.empty() ? isRowMajor(tensor.sizes(), strides)
                                : strides == layout.strides;
}

void LayoutKeeper::add(const at::Tensor &written) {
  if (!written.defined() || written.device().type() != at::kLazy ||
      !functional::impl::isFunctionalTensor(written))
    return;
  functional::impl::sync(written);
  Kept &each = kept.emplace_back();
  each.tensor = written;
  each.sizes.assign(written.sizes().begin(), written.sizes().end());
  each.own = layoutOf(written);
  each.isView =
      !functional::impl::unsafeGetFunctionalWrapper(written)->isBaseTensor();
  if (each.isView)
    each.base = layoutOf(storageOf(written).base());
}

static void report(const at::Tensor &tensor, const Layout &layout) {
  if (reports(tensor, layout))
    return;
  auto *wrapper = functional::impl::unsafeGetFunctionalWrapper(tensor);
  const at::Tensor &value = wrapper->value();
  setLayout(*value.unsafeGetTensorImpl(), value.sizes(), layout);
  // The wrapper answers some questions from its own copy.
  wrapper->set_sizes_and_strides(value.sizes(), value.strides(), layout.offset);
}

void LayoutKeeper::restore() const {
  for (const Kept &each : kept) {
    if (each.tensor.sizes() != each.sizes) {
      if (resized == Resized::RowMajor && !each.isView)
        report(each.tensor, Layout());
      continue;
    }
    if (each.isView) {
      const at::Tensor &base = storageOf(each.tensor).base();
      if (!reports(base, each.base))
        setLayout(*base.unsafeGetTensorImpl(), base.sizes(), each.base);
    }
    report(each.tensor, each.own);
  }
}

} // namespace ltc::backend
