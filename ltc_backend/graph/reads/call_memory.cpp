//===- reads/call_memory.cpp - Device memory in a call's hands ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/call_memory.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/reads/host_read.h"
#include "ltc_backend/graph/reads/library_copy.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ltc::backend {

void computeAll(c10::ArrayRef<at::Tensor> tensors) {
  std::vector<TensorDataPtr> pending;
  for (const at::Tensor &tensor : tensors) {
    materialise(tensor);
    TensorDataPtr data = tensorData(tensor);
    if (!deviceData(*data))
      pending.push_back(std::move(data));
  }
  if (!pending.empty() && !computeOnHost(pending))
    sync(deviceOf(*pending[0]), /*wait=*/false, pending);
}

void awaitValues(const std::vector<at::Tensor> &tensors) {
  std::vector<at::Tensor> lazy;
  std::ranges::copy_if(tensors, std::back_inserter(lazy), isPlain);
  computeAll(lazy);
  for (const at::Tensor &tensor : lazy) {
    std::shared_ptr<DeviceData> data = readyData(tensor);
    waitForResult(data->device().ordinal(), *data->buffer());
  }
}

CallMemory memoryOf(const at::Tensor &tensor, at::Device place) {
  if (!place.is_cpu())
    return {toLibrary(tensor, place).to(place), nullptr};
  std::shared_ptr<DeviceData> data = readyData(tensor);
  waitForResult(data->device().ordinal(), *data->buffer());
  if (at::Tensor cpu = tensorOver(*data, data->buffer()); cpu.defined())
    return {cpu, data};
  return {download(*data), nullptr};
}

/// Whether only a tensor, and the caller, have its value.
static bool isItsAlone(const TensorData &tensor,
                       const std::shared_ptr<DeviceData> &data) {
  std::lock_guard lock(pendingList(deviceOf(tensor)).mutex);
  data->values.reset(); // which have a share in the buffer
  const std::shared_ptr<DeviceData> &first = firstOf(data);
  if (tensor.handle != data || first->mayComeBack ||
      (first != data && first.use_count() != 1))
    return false;
  const std::shared_ptr<torch::lazy::Node> &leaf = tensor.ir_value.node;
  if ((leaf && leaf.use_count() != 1) || data.use_count() != (leaf ? 3 : 2))
    return false;
  // A launch under way that reads the buffer has it, beside the data and
  // tensorOver(). One that has just let go of it has read it before the fence.
  bool isRead = data->buffer().use_count() != 2;
  std::atomic_thread_fence(std::memory_order_acquire);
  return !isRead;
}

CallMemory memoryToWrite(const at::Tensor &tensor, at::Device place) {
  CallMemory old = memoryOf(tensor, place);
  if (!old.data)
    return old; // a copy already
  auto *wrapper =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor);
  if (wrapper->isBaseTensor() && isItsAlone(*tensorData(tensor), old.data))
    return old;
  CallMemory fresh = freshMemory(tensor, place);
  if (fresh.tensor.nbytes())
    std::memcpy(fresh.tensor.mutable_data_ptr(), old.tensor.const_data_ptr(),
                fresh.tensor.nbytes());
  return fresh;
}

CallMemory freshMemory(const at::Tensor &tensor, at::Device place) {
  if (!place.is_cpu())
    return {at::empty(tensor.sizes(),
                      at::device(place).dtype(tensor.scalar_type())),
            nullptr};
  int64_t device = tensor.device().index();
  TensorType type{*toDType(tensor.scalar_type()), tensor.sizes().vec()};
  auto data = std::make_shared<DeviceData>(
      device, torch::lazy::Shape(tensor.scalar_type(), tensor.sizes()),
      valueOrRaise(engine(device).allocate(type)));
  if (at::Tensor cpu = tensorOver(*data, data->buffer()); cpu.defined())
    return {cpu, data};
  return {at::detail::empty_cpu(tensor.sizes(), tensor.scalar_type()), nullptr};
}

at::Tensor nextValue(const at::Tensor &tensor, const CallMemory &memory) {
  int64_t device = tensor.device().index();
  if (!memory.data)
    return makeTensor(fromLibrary(memory.tensor, device), device);
  // Data never changes: what has been written over is another value.
  return makeTensor(std::make_shared<DeviceData>(device, memory.data->shape(),
                                                 memory.data->buffer()),
                    device);
}

} // namespace ltc::backend
