//===- stream_capture.h - What ATen queues, captured ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a stream captures, PyTorch takes memory for it from a pool of its own,
// which must outlive what was captured. PyTorch does both at once in its own
// graphs; one is begun and ended here, and the device takes what is in it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

#include <c10/core/Stream.h>

namespace ltc::backend {

/// Whether this PyTorch has graphs of such devices.
bool hasCaptures(at::DeviceType type);

/// Has the stream capture from now on. Memory comes from one pool of the
/// device, which stays as long as the process.
Result<std::unique_ptr<Capture>> captureStream(c10::Stream stream);

/// Another number where PyTorch's settings have changed by which kernels of a
/// GPU choose what they do.
uint64_t kernelSettings();

} // namespace ltc::backend
