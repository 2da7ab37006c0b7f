//===- launch_state.cpp - What the launches of a queue share ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/launch.h"
#include "engine/resident.h"

#include "ltc/log.h"
#include "ltc/metrics.h"

#include <algorithm>

namespace ltc::runtime {

Result<ltc_buffer *> Arena::reserve(Device &device, size_t bytes) {
  if (bytes <= size)
    return bytes ? memory.get() : nullptr;
  release(); // first, so that old and new never stand side by side
  Result<Memory> grown = device.allocate(bytes);
  if (!grown)
    return grown.takeError();
  memory = std::move(*grown);
  size = bytes;
  return memory.get();
}

void Arena::discard() {
  if (void *data = memory.hostPointer())
    discardContents(data, size);
}

void FailureLog::add(FailurePtr failure) {
  std::lock_guard lock(mutex);
  std::erase_if(failures,
                [](const FailurePtr &old) { return old->seen.load(); });
  failures.push_back(std::move(failure));
}

FailurePtr FailureLog::takeFirstUnseen() {
  std::vector<FailurePtr> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(failures);
  }
  FailurePtr first;
  for (FailurePtr &failure : taken) {
    if (failure->seen.exchange(true))
      continue;
    if (first)
      log(LogLevel::Warn, Stage::Execute,
          "a later launch failed too: " + failure->error.message);
    else
      first = std::move(failure);
  }
  return first;
}

FailurePtr LaunchState::fail(Error error) {
  static Counter &errors = counter("execute.errors");
  errors.add();
  auto failure = std::make_shared<Failure>(std::move(error));
  // Who interrupted it knows; who reads what it was to compute is told.
  if (failure->error.code != ErrorCode::Interrupted)
    failures.add(failure);
  return failure;
}

void LaunchState::countBusy(LoopMeter::Clock::time_point start,
                            LoopMeter::Clock::time_point end) {
  static Counter &busy = counter("execute.busy_microseconds");
  using std::chrono::duration_cast, std::chrono::microseconds;
  busy.add(
      duration_cast<microseconds>(end - std::max(start, busyUntil)).count());
  busyUntil = end;
}

void LaunchState::rest() {
  if (hostServices().rest)
    hostServices().rest();
  team = {};
}

} // namespace ltc::runtime
