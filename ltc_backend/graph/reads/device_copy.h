//===- reads/device_copy.h - Values that go to another device ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

/// The tensor's value on another lazy device. Queues what it still takes to
/// compute it, and the copy, and waits for neither.
std::shared_ptr<DeviceData> copyToDevice(const at::Tensor &tensor,
                                         int64_t device);

} // namespace ltc::backend
