//===- lazy_device.h - The devices of this process --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <torch/csrc/lazy/backend/backend_device.h>

namespace ltc::backend {

/// Number of devices of the chosen driver.
LTC_API int64_t deviceCount();
/// Raises unless `ordinal` is a device of this machine.
LTC_API void checkOrdinal(int64_t ordinal);
/// Whether the device is the host itself, and reads CPU tensors where they are.
LTC_API bool isHost(int64_t ordinal);
/// The device that `torch.device("lazy")` without an index means on this
/// thread.
LTC_API int64_t currentDevice();
LTC_API void setCurrentDevice(int64_t ordinal);

/// The device's engine; raises if it cannot be opened.
Engine &engine(int64_t device);

/// The device as torch::lazy names it.
const torch::lazy::BackendDevice &backendDevice(int64_t ordinal);
/// The type of all of them. Nobody's: each tensor has a copy, and none of them
/// is to be counted.
std::shared_ptr<torch::lazy::BackendDeviceType> deviceType();

/// An ordinal that no driver's device has, for a graph that is built for the
/// device `home`. Raises if too many are taken.
int64_t takeOrdinal(int64_t home);
void giveBackOrdinal(int64_t ordinal);
/// The device for which a graph is built there, or the device itself.
LTC_API int64_t homeOf(int64_t device);

} // namespace ltc::backend
