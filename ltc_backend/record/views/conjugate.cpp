//===- views/conjugate.cpp - Conjugates without a bit ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/conjugate.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/direct.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <typeinfo>

namespace ltc::backend {

/// Whether an odd number of the views that lead to the tensor are conjugates.
static bool isConjugate(const at::Tensor &tensor) {
  if (!isFunctionalLazy(tensor) || !tensor.is_complex())
    return false;
  bool odd = false;
  const auto &views =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor)
          ->view_metas();
  for (const auto &shared : views) {
    const at::functionalization::ViewMeta &view = *shared;
    // PyTorch's class for it is in no header.
    std::string_view name = typeid(view).name();
    odd ^= name.find("_conj_ViewMeta") != name.npos;
  }
  return odd;
}

static at::Tensor resolveConj(const at::Tensor &self) {
  return self.is_conj() || isConjugate(self) ? self.clone() : self;
}

void registerConjugates() {
  using c10::DispatchKey;
  // The composite kernel stands on the autograd key, below which is the other.
  for (DispatchKey key :
       {DispatchKey::AutogradLazy, DispatchKey::Functionalize})
    makeLibrary("aten", key)->impl("resolve_conj", resolveConj);
}

} // namespace ltc::backend
