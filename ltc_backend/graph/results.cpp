//===- graph/results.cpp - Values that launches have computed -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/results.h"

#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/timed_transfer.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

void waitForResult(int64_t device, Buffer &buffer) {
  waitFor(buffer);
  if (Status status = buffer.wait(); !status)
    raiseUndone(device, status.error());
}

at::Tensor download(const DeviceData &data) {
  if (!data.hasBuffer())
    return data.values.clone();
  int64_t device = data.device().ordinal();
  waitForResult(device, *data.buffer());
  const torch::lazy::Shape &shape = data.shape();
  at::Tensor result = at::detail::empty_cpu(shape.sizes(), shape.scalar_type());
  TimedTransfer timed(/*isUpload=*/false, result.const_data_ptr(),
                      result.nbytes());
  raiseIfFailed(
      engine(device).download(data.buffer(), result.mutable_data_ptr()));
  return result;
}

at::Tensor tensorOver(const DeviceData &data,
                      std::shared_ptr<const void> keeper) {
  const torch::lazy::Shape &shape = data.shape();
  void *memory = const_cast<void *>(data.buffer()->hostPointer());
  if (!memory)
    return {};
  return at::from_blob(
      memory, shape.sizes(), [held = std::move(keeper)](void *) {},
      at::device(at::kCPU).dtype(shape.scalar_type()));
}

at::Tensor readOnHost(const std::shared_ptr<DeviceData> &data) {
  waitForResult(data->device().ordinal(), *data->buffer());
  at::Tensor inPlace = tensorOver(*data, data);
  return inPlace.defined() ? inPlace : download(*data);
}

} // namespace ltc::backend
