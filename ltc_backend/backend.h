//===- backend.h - What Python and C++ programs ask of the backend --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc/source.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Number of devices of the chosen driver.
LTC_API int64_t deviceCount();
/// Raises unless `ordinal` is a device of this machine.
LTC_API void checkOrdinal(int64_t ordinal);
/// The device that `torch.device("lazy")` without an index means on this
/// thread.
LTC_API int64_t currentDevice();
LTC_API void setCurrentDevice(int64_t ordinal);

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

/// The tensor's value as a CPU tensor of its own memory; syncs if needed.
LTC_API at::Tensor toCpu(const at::Tensor &tensor);

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

/// Names the user's line that is running; called once for each recorded op, so
/// it must be quick. 0: unknown.
using FrameHook = SourceId (*)();
LTC_API void setFrameHook(FrameHook hook);
/// Called every 50 ms while a thread waits for the device; may throw to give
/// up the wait (Ctrl-C).
using InterruptHook = void (*)();
LTC_API void setInterruptHook(InterruptHook hook);
/// What a thread must not hold while it waits: the GIL, which kernels written
/// in Python and other threads' errors need. `release` returns what `restore`
/// takes, or null if the thread does not hold it.
struct WaitHooks {
  void *(*release)();
  void (*restore)(void *released);
};
/// `hooks` stays for good.
LTC_API void setWaitHooks(const WaitHooks &hooks);

} // namespace ltc::backend
