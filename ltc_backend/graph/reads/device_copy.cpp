//===- reads/device_copy.cpp - Values that go to another device -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/device_copy.h"

#include "ltc/devices.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/pending.h"
#include "ltc_backend/tensors/tape.h"

namespace ltc::backend {

std::shared_ptr<DeviceData> copyToDevice(const at::Tensor &tensor,
                                         int64_t device) {
  // A tape knows uploads and reads.
  if (Tape::current())
    return upload(toCpu(tensor), device);
  SyncCause cause(profile::Cause::DeviceCopy);
  std::shared_ptr<DeviceData> from = readyData(tensor);
  {
    // The copy may read after all others have let go.
    std::lock_guard lock(pendingList(from->device().ordinal()).mutex);
    firstOf(from)->mayComeBack = true;
  }
  return std::make_shared<DeviceData>(
      device, from->shape(),
      valueOrRaise(ltc::copyToDevice(uint32_t(device), from->buffer())));
}

} // namespace ltc::backend
