//===- tensors/device_data.cpp - Memory on the device ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/device_data.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/tensors/timed_transfer.h"

#include <ATen/ATen.h>

#include <atomic>

namespace ltc::backend {

static std::atomic<uint64_t> dataMade;

DeviceData::DeviceData(int64_t device, torch::lazy::Shape shape,
                       BufferPtr buffer)
    : BackendData(backendDevice(device), std::move(shape)), made(++dataMade),
      madeBuffer(true), memory(std::move(buffer)) {}

DeviceData::DeviceData(int64_t device, at::Tensor values)
    : BackendData(backendDevice(device),
                  torch::lazy::Shape(values.scalar_type(), values.sizes())),
      made(++dataMade), values(std::move(values)), madeBuffer(false) {}

void DeviceData::makeBuffer() const {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (hasBuffer())
    return;
  TensorType type{*toDType(values.scalar_type()), values.sizes().vec()};
  memory = valueOrRaise(
      engine(device().ordinal()).upload(type, values.const_data_ptr()));
  madeBuffer.store(true, std::memory_order_release);
}

uint64_t DeviceData::lastMade() { return dataMade; }

void DeviceData::Assign(const torch::lazy::BackendData &other) {
  memory = static_cast<const DeviceData &>(other).buffer();
  madeBuffer.store(true, std::memory_order_release);
}

std::shared_ptr<DeviceData> sharing(const std::shared_ptr<DeviceData> &data) {
  auto result = std::make_shared<DeviceData>(data->device().ordinal(),
                                             data->shape(), data->buffer());
  result->first = firstOf(data);
  result->marks = data->marks;
  return result;
}

std::shared_ptr<DeviceData> inPlaceOf(std::shared_ptr<DeviceData> old,
                                      const std::shared_ptr<DeviceData> &data) {
  if (!old)
    return data;
  std::shared_ptr<DeviceData> result = sharing(data);
  if (std::shared_ptr<Replaced> replaced = data->replaced.lock()) {
    result->replaced = replaced;
    result->place = uint32_t(replaced->values.size());
    replaced->values.push_back(std::move(old));
  } else if (data->buffer()->failure()) {
    result->before = std::move(old);
  }
  return result;
}

std::shared_ptr<DeviceData> standing(std::shared_ptr<DeviceData> data) {
  if (!anyFailure.load(std::memory_order_relaxed)) [[likely]]
    return data;
  while (data->hasBuffer() && data->buffer()->isUndone()) {
    if (auto replaced = data->replaced.lock();
        replaced && data->place != DeviceData::kNoPlace) {
      data->before = std::move(replaced->values[data->place]);
      data->replaced.reset();
    }
    // What a launch has written over before it failed is lost.
    if (!data->before || data->before->buffer()->isConsumed())
      break;
    data = data->before;
  }
  return data;
}

std::shared_ptr<DeviceData> upload(const at::Tensor &cpu, int64_t device) {
  std::optional<DType> dtype = toDType(cpu.scalar_type());
  if (!dtype || cpu.layout() != c10::kStrided)
    raise({ErrorCode::Unsupported,
           Stage::Record,
           "cannot move a " + std::string(c10::toString(cpu.scalar_type())) +
               " tensor with layout " + c10::str(cpu.layout()) +
               " to a lazy device; wanted a strided tensor of a plain type",
           "aten::_to_copy",
           {},
           "convert it on the CPU first"});
  at::Tensor dense = cpu;
  // Lazy conjugation and negation are views that a device does not have.
  if (cpu.is_conj() || cpu.is_neg() || !cpu.is_contiguous())
    dense = cpu.detach().resolve_conj().resolve_neg().contiguous();
  TensorType type{*dtype, cpu.sizes().vec()};
  TimedTransfer timed(/*isUpload=*/true, dense.const_data_ptr(),
                      dense.nbytes());
  auto data = std::make_shared<DeviceData>(
      device, torch::lazy::Shape(cpu.scalar_type(), cpu.sizes()),
      valueOrRaise(engine(device).upload(type, dense.const_data_ptr())));
  if (Tape *tape = Tape::current()) [[unlikely]]
    tape->uploads.push_back({data->buffer(), cpu, currentSource()});
  return data;
}

} // namespace ltc::backend
