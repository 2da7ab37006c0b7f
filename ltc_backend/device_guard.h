//===- device_guard.h - What PyTorch asks of the current device -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// PyTorch's guard of lazy devices does not say which one is current:
/// to('lazy') would copy a tensor that is there. From now on the device has its
/// number. Idempotent, any thread.
void numberCurrentDevice();

} // namespace ltc::backend
