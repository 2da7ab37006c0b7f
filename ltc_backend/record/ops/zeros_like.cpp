//===- ops/zeros_like.cpp - State that begins as zeros --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/zeros_like.h"

#include "ltc_backend/raise.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/tensors/device_data.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static bool beginsState(const at::Tensor &self) {
  static const OpInfo &info = opInfo("aten::zeros_like", "");
  return isFunctionalLazy(self) && self.requires_grad() && self.is_leaf() &&
         !at::GradMode::is_enabled() && isOrdinary(info);
}

/// Without a tensor on the host, of which the heap would keep the places.
static std::shared_ptr<DeviceData> makeZeros(const at::Tensor &like,
                                             int64_t device) {
  torch::lazy::Shape shape(like.scalar_type(), like.sizes());
  TensorType type = makeResultType(shape.scalar_type(), shape.sizes()).type;
  return std::make_shared<DeviceData>(
      device, std::move(shape),
      valueOrRaise(engine(device).upload(type, /*data=*/nullptr)));
}

void registerOptimizerState(torch::Library &library) {
  c10::OperatorHandle op = atenOp("zeros_like");
  c10::KernelFunction recorded = kernelOf(op, c10::DispatchKey::Functionalize);
  using MaybeType = std::optional<at::ScalarType>;
  using MaybeLayout = std::optional<at::Layout>;
  using MaybeDevice = std::optional<at::Device>;
  using MaybeBool = std::optional<bool>;
  using MaybeFormat = std::optional<at::MemoryFormat>;
  auto kernel = [op, recorded](c10::DispatchKeySet keys, const at::Tensor &self,
                               MaybeType dtype, MaybeLayout layout,
                               MaybeDevice device, MaybeBool pinned,
                               MaybeFormat format) {
    if (dtype || layout || device || pinned.value_or(false) ||
        !beginsState(self))
      return recorded.call<at::Tensor, const at::Tensor &, MaybeType,
                           MaybeLayout, MaybeDevice, MaybeBool, MaybeFormat>(
          op, keys, self, dtype, layout, device, pinned, format);
    int64_t ordinal = deviceOf(*tensorData(self));
    return wrap(makeTensor(makeZeros(self, ordinal), ordinal,
                           layoutOfCopy(self, format)));
  };
  library.impl("zeros_like", torch::CppFunction(kernel));
}

} // namespace ltc::backend
