//===- reads/library_copy.cpp - Values of PyTorch's own devices -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/library_copy.h"

#include "ltc/devices.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace ltc::backend {

/// Whether it may be a chip that is a lazy device too. A tape knows uploads and
/// reads.
static bool mayBeShared(at::Device device) {
  return !device.is_cpu() && !Tape::current() &&
         c10::impl::hasDeviceGuardImpl(device.type());
}

/// Waits for what PyTorch has queued with a tensor's memory, also with what was
/// there before.
static void awaitLibrary(at::Device device) {
  c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

static LibraryMemory memoryOf(const at::Tensor &tensor,
                              const std::string &type) {
  return {type.c_str(), uint32_t(tensor.device().index()),
          const_cast<void *>(tensor.const_data_ptr())};
}

/// Waits for a copy; false: there is none, as it is another chip.
static bool isDone(const Result<BufferPtr> &copy) {
  if (!copy) {
    if (copy.error().code == ErrorCode::Unsupported)
      return false;
    raise(copy.error());
  }
  waitFor(**copy);
  raiseIfFailed((*copy)->wait());
  return true;
}

std::optional<at::Device> libraryDevice(int64_t device, at::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type))
    return std::nullopt;
  std::string name = c10::DeviceTypeName(type, /*lower_case=*/true);
  c10::DeviceIndex count = c10::impl::VirtualGuardImpl(type).deviceCount();
  // Nothing is copied: a device knows memory of its own chip.
  const TensorType nothing{DType::U8, {0}};
  for (c10::DeviceIndex i = 0; i < count; ++i)
    if (isDone(copyFromLibrary(uint32_t(device), nothing,
                               {name.c_str(), uint32_t(i), nullptr})))
      return at::Device(type, i);
  return std::nullopt;
}

at::Tensor toLibrary(const at::Tensor &lazy, at::Device device) {
  if (!mayBeShared(device) || lazy.numel() == 0)
    return toCpu(lazy);
  std::shared_ptr<DeviceData> from = readyData(lazy);
  at::Tensor there = at::empty(
      lazy.sizes(), lazy.options().device(device).layout(at::kStrided));
  awaitLibrary(there.device());
  std::string type = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  bool done =
      isDone(copyToLibrary(from->buffer(), uint32_t(from->device().ordinal()),
                           memoryOf(there, type)));
  return done ? there : toCpu(lazy);
}

std::shared_ptr<DeviceData> fromLibrary(const at::Tensor &tensor,
                                        int64_t device) {
  std::optional<DType> dtype = toDType(tensor.scalar_type());
  if (!mayBeShared(tensor.device()) || !dtype || tensor.numel() == 0 ||
      tensor.layout() != at::kStrided)
    return upload(tensor.cpu(), device);
  at::Tensor dense = tensor.detach().resolve_conj().resolve_neg().contiguous();
  awaitLibrary(dense.device());
  std::string type =
      c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true);
  auto copied = copyFromLibrary(
      uint32_t(device), {*dtype, tensor.sizes().vec()}, memoryOf(dense, type));
  if (!isDone(copied))
    return upload(tensor.cpu(), device);
  return std::make_shared<DeviceData>(
      device, torch::lazy::Shape(tensor.scalar_type(), tensor.sizes()),
      std::move(*copied));
}

} // namespace ltc::backend
