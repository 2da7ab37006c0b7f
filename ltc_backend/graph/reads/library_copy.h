//===- reads/library_copy.h - Values of PyTorch's own devices ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU may be a lazy device and PyTorch's "cuda" at once. Then values need not
// go by way of the host.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

/// Which of the library's devices of that type the lazy device is: PyTorch's
/// "cuda:0"; nothing if it is none.
LTC_API std::optional<at::Device> libraryDevice(int64_t device,
                                                at::DeviceType type);

/// The tensor's value, row-major: on the device if that is the same chip, else
/// on the CPU.
at::Tensor toLibrary(const at::Tensor &lazy, at::Device device);

/// The value of a tensor of any device but lazy ones.
std::shared_ptr<DeviceData> fromLibrary(const at::Tensor &tensor,
                                        int64_t device);

} // namespace ltc::backend
