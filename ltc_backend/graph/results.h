//===- graph/results.h - Values that launches have computed -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

/// Waits for a result, looking at signals, and raises its error so.
void waitForResult(int64_t device, Buffer &buffer);
/// Waits for the data in the same way, and copies it into a new CPU tensor.
at::Tensor download(const DeviceData &data);
/// Waits likewise. The data's own memory, which nobody may write to and no
/// launch takes while the tensor lives; a copy where the host does not reach
/// it.
at::Tensor readOnHost(const std::shared_ptr<DeviceData> &data);
/// The data's memory as a dense CPU tensor that keeps `keeper`; undefined if
/// the host has no address for it.
at::Tensor tensorOver(const DeviceData &data,
                      std::shared_ptr<const void> keeper);

} // namespace ltc::backend
