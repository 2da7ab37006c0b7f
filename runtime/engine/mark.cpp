//===- mark.cpp - A place in a device's queue -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/mark.h"

namespace ltc::runtime {

Work::Progress ReachMark::run(bool) {
  if (device->isAsynchronous() && !isAlone) {
    if (Result<Fence> behind = device->record()) {
      mark->fence = std::move(*behind);
      ++state.onDevice;
      return Progress::GoesOn;
    }
    isAlone = true;
    return Progress::Later;
  }
  reach();
  return Progress::Done;
}

void ReachMark::takeBack() {
  (void)mark->fence.wait();
  mark->fence = Fence();
  --state.onDevice;
}

void ReachMark::finish() {
  (void)mark->fence.wait();
  --state.onDevice;
  reach();
}

void ReachMark::reach() {
  mark->when = std::chrono::steady_clock::now();
  mark->completion.finish(nullptr);
}

} // namespace ltc::runtime
