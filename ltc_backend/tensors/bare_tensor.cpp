//===- tensors/bare_tensor.cpp - Tensors below functionalisation ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/bare_tensor.h"

#include "ltc/freelist.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/torch_private.h"

namespace ltc::backend {
using torch::lazy::LazyTensor;
using torch::lazy::LTCTensorImpl;

LTCTensorImpl *bareImpl(c10::TensorImpl &impl) {
  return impl.key_set().has(c10::DispatchKey::Lazy)
             ? dynamic_cast<LTCTensorImpl *>(&impl)
             : nullptr;
}

const std::shared_ptr<LazyTensor::Data> &sharedData(LTCTensorImpl &impl) {
  return lazyTensorOf(impl).data();
}

TensorDataPtr bareData(const at::Tensor &bare) {
  LTCTensorImpl *impl = bareImpl(*bare.unsafeGetTensorImpl());
  TORCH_INTERNAL_ASSERT(impl, "not a lazy tensor");
  return std::static_pointer_cast<TensorData>(sharedData(*impl));
}

int64_t deviceOf(const TensorData &data) { return data.device.ordinal(); }

namespace {
/// Moved from at once: LTCTensorImpl takes a LazyTensor apart.
struct Carrier final : LazyTensor {
  explicit Carrier(TensorDataPtr data) : LazyTensor(std::move(data)) {}
};
} // namespace

/// Of data that no other thread knows of yet: its dtype is looked up, in what a
/// sync may be changing otherwise.
static at::Tensor makeWithoutSizes(TensorDataPtr data) {
  at::Tensor tensor(
      c10::make_intrusive<LTCTensorImpl>(Carrier(std::move(data))));
  // There is none, which PyTorch's own code would take for one at null.
  tensor.unsafeGetTensorImpl()->set_storage_access_should_throw();
  return tensor;
}

at::Tensor addTensor(PendingList &list, std::shared_ptr<OpNode> node,
                     size_t index) {
  const auto &device = backendDevice(node->device);
  auto data = std::allocate_shared<TensorData>(
      Freelist<TensorData>(), torch::lazy::Value(std::move(node), index),
      device);
  TensorData &pending = *data;
  at::Tensor tensor = makeWithoutSizes(std::move(data));
  list.link(pending);
  return tensor;
}

at::Tensor makeTensor(std::shared_ptr<OpNode> node, size_t index,
                      const Layout &layout) {
  at::IntArrayRef sizes = node->result(index).shape.sizes();
  PendingList &list = pendingList(node->device);
  at::Tensor tensor;
  {
    std::lock_guard lock(list.mutex);
    tensor = addTensor(list, std::move(node), index);
  }
  setLayout(*tensor.unsafeGetTensorImpl(), sizes, layout);
  return tensor;
}

at::Tensor makeTensor(std::shared_ptr<DeviceData> data, int64_t device,
                      const Layout &layout) {
  const torch::lazy::Shape &shape = data->shape();
  at::Tensor tensor = makeWithoutSizes(std::make_shared<TensorData>(
      torch::lazy::BackendDataPtr(data), backendDevice(device)));
  setLayout(*tensor.unsafeGetTensorImpl(), shape.sizes(), layout);
  return tensor;
}

at::Tensor makeTensor(const Operand &value, int64_t device,
                      const Layout &layout) {
  if (value.ltc().isData)
    return makeTensor(static_cast<const DataNode &>(*value.node).data, device,
                      layout);
  return makeTensor(std::static_pointer_cast<OpNode>(value.node), value.index,
                    layout);
}

Operand operandOf(const TensorDataPtr &data) {
  std::lock_guard lock(pendingList(deviceOf(*data)).mutex);
  return valueOf(*data);
}

/// After a failure that somebody knows of, gives a tensor the value that it had
/// before.
static void restore(TensorData &data) {
  if (!data.handle)
    return;
  auto now = std::static_pointer_cast<DeviceData>(data.handle);
  auto before = standing(now);
  if (before == now)
    return;
  data.handle = std::move(before);
  data.ir_value = {};
  ++data.generation;
}

Operand valueOf(TensorData &data) {
  if (anyFailure.load(std::memory_order_relaxed)) [[unlikely]]
    restore(data);
  // Without an IR value there is data: make it a leaf, once.
  if (!data.ir_value)
    data.ir_value = torch::lazy::Value(std::make_shared<DataNode>(
        std::static_pointer_cast<DeviceData>(data.handle)));
  return {data.ir_value.node, uint32_t(data.ir_value.index)};
}

void exchange(PendingList &list, TensorData &data, torch::lazy::Value &value) {
  std::swap(data.ir_value, value);
  if (data.handle)
    data.before = std::static_pointer_cast<DeviceData>(
        std::exchange(data.handle, nullptr));
  auto &node = static_cast<const LtcNode &>(*data.ir_value.node);
  if (node.isData) {
    const auto &given = static_cast<const DataNode &>(node).data;
    auto now = inPlaceOf(std::exchange(data.before, nullptr), given);
    if (now != given)
      data.ir_value = {};
    data.handle = std::move(now);
    list.unlink(data);
  } else {
    list.link(data);
  }
  ++data.generation;
}

void assign(const TensorDataPtr &data, const Operand &value) {
  PendingList &list = pendingList(deviceOf(*data));
  torch::lazy::Value old(value.node, value.index);
  std::lock_guard lock(list.mutex);
  exchange(list, *data, old);
}

std::shared_ptr<DeviceData> deviceData(const TensorData &data) {
  std::lock_guard lock(pendingList(deviceOf(data)).mutex);
  auto now = std::static_pointer_cast<DeviceData>(data.handle);
  return now ? standing(std::move(now)) : now;
}

} // namespace ltc::backend
