//===- worker_table.h - What a worker thread fills in of a table *- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors, queues, fences and traces of a driver whose queues are worker
// threads. Each library has one such driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/worker.h"

#include <charconv>
#include <string_view>
#include <utility>

struct ltc_error {
  ltc::drivers::Fault fault;
};
struct ltc_fence {
  std::shared_ptr<ltc::drivers::Fence> fence;
};
struct ltc_queue {
  ltc::drivers::Queue queue;
};

namespace ltc::drivers {

/// What a device has for its queues, which derives from this.
struct WorkerDevice {
  std::chrono::microseconds delay{}; ///< before each piece of work
  Trace trace;
  uint32_t queues = 0; ///< made so far
};

inline ltc_error *own(Outcome outcome) {
  return outcome ? new ltc_error{std::move(*outcome)} : nullptr;
}
inline ltc_error *fail(ltc_error_code code, std::string message) {
  return new ltc_error{{code, std::move(message)}};
}

/// Whether the value of an option is one, and all of it.
bool isNumber(std::string_view text, auto &number) {
  const char *last = text.data() + text.size();
  auto [end, failure] = std::from_chars(last - text.size(), last, number);
  return failure == std::errc() && end == last;
}

/// Does it now where there is no queue.
ltc_error *submit(ltc_queue *queue, const char *name,
                  std::function<Outcome()> work, bool mayBeSkipped);

// Members of the table.
void errorRead(const ltc_error *error, ltc_error_info *info);
void errorFree(ltc_error *error);
void queueFree(ltc_device *, ltc_queue *queue);
ltc_error *queueResume(ltc_device *, ltc_queue *queue);
ltc_error *queueWait(ltc_device *, ltc_queue *queue, ltc_fence *fence);
ltc_error *fenceRecord(ltc_device *, ltc_queue *queue, ltc_fence **fence);
ltc_error *fenceWait(ltc_device *, ltc_fence *fence, int64_t nanoseconds,
                     int32_t *reached);
void fenceFree(ltc_device *, ltc_fence *fence);
ltc_error *fenceElapsed(ltc_device *, ltc_fence *start, ltc_fence *end,
                        double *seconds);

/// A table with these. `Device` is ltc_device, a WorkerDevice.
template <typename Device> constexpr ltc_plugin workerTable(const char *name) {
  ltc_plugin all = {};
  all.struct_size = sizeof(ltc_plugin);
  all.name = name;
  all.error_read = errorRead;
  all.error_free = errorFree;
  all.queue_create = [](Device *device, ltc_queue **queue) -> ltc_error * {
    *queue =
        new ltc_queue{Queue(device->delay, device->trace, device->queues++)};
    return nullptr;
  };
  all.queue_free = queueFree;
  all.queue_resume = queueResume;
  all.queue_wait = queueWait;
  all.fence_record = fenceRecord;
  all.fence_wait = fenceWait;
  all.fence_free = fenceFree;
  all.fence_elapsed = fenceElapsed;
  all.trace_start = [](Device *device) -> ltc_error * {
    device->trace.start();
    return nullptr;
  };
  all.trace_stop = [](Device *device, size_t *count,
                      int64_t *now) -> const ltc_span * {
    const std::vector<ltc_span> &spans = device->trace.stop();
    *count = spans.size();
    *now = Trace::now();
    return spans.data();
  };
  return all;
}

} // namespace ltc::drivers
