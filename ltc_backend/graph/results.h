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

} // namespace ltc::backend
