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

void LayoutKeeper::restore() const {
  for (const Kept &each : kept) {
    if (each.tensor.sizes() != each.sizes)
      continue;
    if (each.isView) {
      const at::Tensor &base = storageOf(each.tensor).base();
      if (!reports(base, each.base))
        setLayout(*base.unsafeGetTensorImpl(), base.sizes(), each.base);
    }
    if (reports(each.tensor, each.own))
      continue;
    auto *wrapper = functional::impl::unsafeGetFunctionalWrapper(each.tensor);
    const at::Tensor &value = wrapper->value();
    setLayout(*value.unsafeGetTensorImpl(), value.sizes(), each.own);
    // The wrapper answers some questions from its own copy.
    wrapper->set_sizes_and_strides(value.sizes(), value.strides(),
                                   each.own.offset);
  }
}

} // namespace ltc::backend
