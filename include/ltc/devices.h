//===- devices.h - Several devices in one process ---------------*- C++ -*-===//
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

#include "ltc/compiler.h"
#include "ltc/engine.h"

namespace ltc {

/// What a device says of itself.
struct DeviceInfo {
  std::string driver;
  uint32_t ordinal = 0; ///< among the driver's devices
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::pair<std::string, int64_t>> statistics;
};
LTC_API Result<DeviceInfo> deviceInfo(uint32_t device);
/// The devices that something has used.
LTC_API std::vector<uint32_t> openDevices();

/// A copy of another device's buffer on this one, queued behind what it has to
/// do. Until it is ready `from` must not be donated. It fails as `from` does.
LTC_API Result<BufferPtr> copyToDevice(uint32_t device, const BufferPtr &from);

/// Memory on a device of the library's that kernels come from, number `number`
/// of its `type`: PyTorch's "cuda".
struct LibraryMemory {
  const char *type;
  uint32_t number;
  void *data;
};
/// Copies of such memory, and to it, without the host. For memory of the chip
/// that `device` is, else Unsupported. It stays, and nothing else changes it,
/// until the buffer is ready.
LTC_API Result<BufferPtr> copyFromLibrary(uint32_t device,
                                          const TensorType &type,
                                          const LibraryMemory &from);
LTC_API Result<BufferPtr> copyToLibrary(const BufferPtr &from, uint32_t device,
                                        const LibraryMemory &to);

/// A graph without symbols as another compiler is handed it.
LTC_API Result<std::string> lowerGraph(const Graph &graph, LoweredForm form);

/// From one marker to another, which both were reached: by the clock of the
/// device if they are of one that has a clock, else by the host's.
LTC_API double secondsBetween(const Marker &start, const Marker &end);

} // namespace ltc
