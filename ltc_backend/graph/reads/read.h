//===- reads/read.h - The values of lazy tensors ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

/// The data of a live tensor, which a sync computes first if it is pending.
std::shared_ptr<DeviceData> readyData(const at::Tensor &tensor);
/// The tensor's value as a CPU tensor of its own memory; syncs if needed.
at::Tensor toCpu(const at::Tensor &tensor);

} // namespace ltc::backend
