//===- backend.h - What Python and C++ programs ask of the backend --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/waiting.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Turns everything that this thread recorded for live tensors of the device
/// into one graph and queues it. Returns when it has been queued, or when it
/// has run if `wait`. Release the GIL first.
LTC_API void markStep(int64_t device, bool wait);
/// Does so without waiting where an optimizer's step ends, and where one is
/// made for parameters, unless the setting auto_step is off.
LTC_API void autoStep(int64_t device, bool hasStepped);
/// Waits for what dry runs compile. Raises its first error, and what the
/// thread's guards say. No lock may be held, nor the GIL.
LTC_API void finishDryRun();
/// Waits for the queue to drain; raises the first error that nobody has seen.
LTC_API void synchronize(int64_t device);

/// Ends a step as markStep() does, and puts a marker behind it.
LTC_API MarkerPtr recordEvent(int64_t device);
/// Whether nothing that was queued is still to run.
LTC_API bool isIdle(int64_t device);
/// Waits for the marker; Ctrl-C ends the wait. Release the GIL first.
LTC_API void waitForEvent(Marker &marker);

/// Notes what the program knows of a dimension's sizes for the graphs that read
/// this value of the tensor, which is computed first if it is pending. Raises
/// if the tensor is not lazy or has no such dimension. Release the GIL first.
LTC_API void markDim(const at::Tensor &tensor, int64_t dim, DimMark::Kind kind);

/// Text of the pending graph of all live tensors of the device.
LTC_API std::string pendingGraphText(int64_t device);

/// Why an op splits the graph, whatever it is called with; "" if it does not.
LTC_API std::string fallbackReason(const std::string &op,
                                   const std::string &overload);

struct MemoryInfo {
  size_t allocated = 0, maxAllocated = 0, reserved = 0; ///< bytes
};
LTC_API MemoryInfo memory(int64_t device);
LTC_API void resetPeakMemory(int64_t device);

} // namespace ltc::backend
