//===- tensors/lazy_tensor.cpp - Lazy tensors, wrapped or bare ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/lazy_tensor.h"

#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"

namespace ltc::backend {
using torch::lazy::LTCTensorImpl;

LTCTensorImpl *lazyImpl(const at::Tensor &tensor) {
  c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  if (impl->key_set().has(c10::DispatchKey::Functionalize)) {
    auto *wrapper = static_cast<at::FunctionalTensorWrapper *>(impl);
    if (isNotTaken(*wrapper))
      materialise(*wrapper);
    impl = wrapper->value().unsafeGetTensorImpl();
  }
  return bareImpl(*impl);
}

TensorDataPtr tensorData(const at::Tensor &lazy) {
  LTCTensorImpl *impl = lazyImpl(lazy);
  TORCH_INTERNAL_ASSERT(impl, "not a lazy tensor");
  return std::static_pointer_cast<TensorData>(sharedData(*impl));
}

at::Tensor sameValue(const at::Tensor &lazy, const Layout &layout) {
  TensorDataPtr data = tensorData(lazy);
  return makeTensor(operandOf(data), deviceOf(*data), layout);
}

TensorData *ownData(const at::Tensor &tensor) {
  const at::Tensor &value =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor)->value();
  LTCTensorImpl *impl = lazyImpl(tensor);
  // Those who hold the value: the wrapper, and its storage as the base.
  if (!impl || !isAlone(tensor) || value.use_count() != 2 ||
      !storageOf(tensor).base().is_same(value))
    return nullptr;
  const auto &shared = sharedData(*impl);
  auto &data = static_cast<TensorData &>(*shared);
  return data.isShared || shared.use_count() != 1 ? nullptr : &data;
}

} // namespace ltc::backend
