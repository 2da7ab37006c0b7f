//===- worker_table.cpp - What a worker thread fills in of a table --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/worker_table.h"

namespace ltc::drivers {

ltc_error *submit(ltc_queue *queue, const char *name,
                  std::function<Outcome()> work, bool mayBeSkipped) {
  if (!queue)
    return own(work());
  queue->queue.push(name, std::move(work), mayBeSkipped);
  return nullptr;
}

void errorRead(const ltc_error *error, ltc_error_info *info) {
  info->code = error->fault.code;
  info->message = error->fault.message.c_str();
  info->site = error->fault.site;
}
void errorFree(ltc_error *error) { delete error; }

void queueFree(ltc_device *, ltc_queue *queue) { delete queue; }

ltc_error *queueResume(ltc_device *, ltc_queue *queue) {
  queue->queue.resume();
  return nullptr;
}

ltc_error *queueWait(ltc_device *, ltc_queue *queue, ltc_fence *fence) {
  queue->queue.push(
      "wait",
      [waited = fence->fence]() -> Outcome {
        waited->wait(std::chrono::nanoseconds(-1));
        return std::nullopt;
      },
      false);
  return nullptr;
}

ltc_error *fenceRecord(ltc_device *, ltc_queue *queue, ltc_fence **fence) {
  *fence = new ltc_fence{queue->queue.record()};
  return nullptr;
}

ltc_error *fenceWait(ltc_device *, ltc_fence *fence, int64_t nanoseconds,
                     int32_t *reached) {
  *reached = fence->fence->wait(std::chrono::nanoseconds(nanoseconds));
  return *reached ? own(fence->fence->outcome()) : nullptr;
}

void fenceFree(ltc_device *, ltc_fence *fence) { delete fence; }

ltc_error *fenceElapsed(ltc_device *, ltc_fence *start, ltc_fence *end,
                        double *seconds) {
  *seconds =
      std::chrono::duration<double>(end->fence->time() - start->fence->time())
          .count();
  return nullptr;
}

} // namespace ltc::drivers
