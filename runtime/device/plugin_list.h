//===- plugin_list.h - The devices of several drivers -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Setting `device` names one driver, or several with commas between. Their
// devices are numbered through: first those of the first driver, in its order,
// then those of the second.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/device.h"

namespace ltc::runtime {

/// How many devices the drivers have together. Of several drivers one that
/// cannot be used is left out, with a warning; if none can, it is an error.
Result<uint32_t> countDevices();

/// A device as its driver numbers it.
struct DevicePlace {
  const Driver *driver = nullptr;
  uint32_t ordinal = 0;
};
Result<DevicePlace> placeOfDevice(uint32_t number);

/// What a device of the driver is opened with, as settings `device_options` and
/// `memory_limit_bytes` say. An option "driver.name" is that driver's alone.
Result<Device::Options> optionsFor(const Driver &driver);

} // namespace ltc::runtime
