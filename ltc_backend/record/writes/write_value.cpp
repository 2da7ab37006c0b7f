//===- writes/write_value.cpp - Tensors get new values --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/write_value.h"

#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/ATen.h>

namespace ltc::backend {
namespace functional = at::functionalization::impl;

static void give(const at::Tensor &inside, const at::Tensor &value) {
  TensorDataPtr data = tensorData(inside);
  assign(data, operandOf(tensorData(value)));
  // Views that were taken of it below functionalisation are of the old value.
  data->isShared = false;
}

/// What the base is after a view of it was given a value.
static at::Tensor baseOf(const at::Tensor &view, at::Tensor value) {
  const auto &metas =
      functional::unsafeGetFunctionalWrapper(view)->view_metas();
  // Each is a view of the one before it.
  std::vector<at::Tensor> shown{storageOf(view).base()};
  for (size_t i = 0; i + 1 < metas.size(); ++i)
    shown.push_back(metas[i]->forward(shown.back()));
  for (size_t i = metas.size(); i-- > 0;)
    value = metas[i]->reverse(shown[i], value);
  return value;
}

void writeBase(const at::Tensor &view, const at::Tensor &value) {
  noteWriteOfStep(view);
  give(storageOf(view).base(), value);
  noteWrite(view);
}

void writeValue(const at::Tensor &self, at::Tensor value) {
  at::AutoDispatchSkipFunctionalize below;
  if (value.scalar_type() != self.scalar_type())
    value = value.to(self.scalar_type());
  auto lock = lockStorages();
  materialise(self);
  auto *wrapper = functional::unsafeGetFunctionalWrapper(self);
  if (!wrapper->isBaseTensor()) {
    give(wrapper->value(), value);
    value = baseOf(self, std::move(value));
  }
  writeBase(self, value);
}

} // namespace ltc::backend
