//===- startup.h - The device's start and end in a process ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a program needs for tensors on the lazy device to work, Python or
// not. Settings come from the environment, or from set() in ltc/settings.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <functional>

namespace ltc::backend {

/// Starts the device: torch::lazy's backend and executor, the recorder's
/// kernels, and what PyTorch reads of the environment. Any thread; once it has
/// succeeded, it does nothing. Raises if another lazy backend is registered, or
/// if this PyTorch is laid out in another way than the build's; what fails once
/// fails for good. The Lazy key may have a fallback kernel of the caller's,
/// whose only registration `dropFallback` takes away: other threads' ops then
/// find its kernel or ours at any time.
LTC_API void initialize(const std::function<void()> &dropFallback = {});

/// Ends what initialize() started: waits for all that is queued, says as a
/// warning what failed and nobody saw, and closes the devices. Later ops open
/// them again. A process that exits without it says nothing. Nothing in a child
/// that was forked from a program with a device. Release the GIL first.
LTC_API void shutdown();

} // namespace ltc::backend
