//===- writes/lost_gradient.cpp - Gradients that will never come ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/lost_gradient.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/graph/failed_nodes.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace ltc::backend {

static bool isLost(const at::Tensor &tensor) {
  TensorDataPtr data = tensorData(tensor);
  std::lock_guard lock(pendingList(deviceOf(*data)).mutex);
  BufferPtr failed = failureOf(valueOf(*data));
  // One that nobody knows of yet goes back to its value from before.
  return failed && failed->isUndone();
}

static at::Tensor zerosLike(const at::Tensor &tensor) {
  int64_t device = deviceOf(*tensorData(tensor));
  torch::lazy::Shape shape(tensor.scalar_type(), tensor.sizes());
  TensorType type{*toDType(tensor.scalar_type()), tensor.sizes().vec()};
  return makeTensor(std::make_shared<DeviceData>(
                        device, std::move(shape),
                        valueOrRaise(engine(device).upload(type, nullptr))),
                    device);
}

void dropLostGradient(const at::Tensor &leaf) {
  if (!leaf.device().is_lazy() || !leaf.requires_grad() || !leaf.is_leaf())
    return;
  const at::Tensor &gradient = leaf.grad();
  if (gradient.defined() && isLazy(gradient) && isLost(gradient))
    leaf.mutable_grad().reset();
}

void zeroLostGradient(const at::Tensor &self) {
  auto node = torch::autograd::get_current_node();
  auto *adds = dynamic_cast<torch::autograd::AccumulateGrad *>(node.get());
  if (adds && adds->variable.grad().is_same(self) && isLazy(self) &&
      isLost(self))
    writeValue(self, zerosLike(self));
}

} // namespace ltc::backend
