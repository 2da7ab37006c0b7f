//===- graph/immediate.cpp - Programs that read all the time --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/immediate.h"

#include "ltc/profile.h"
#include "ltc/settings.h"
#include "ltc_backend/graph/host_read.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/lazy_device.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// Calls on the host, less kGraphWeight times those of graphs, with which calls
/// run at once, and those that are remembered. A program that begins to train
/// makes fewer before it does.
constexpr int64_t kEnough = 256, kMost = 512, kGraphWeight = 4;
/// Calls without a look at a value after which they are recorded again.
constexpr uint32_t kMostCalls = 32;
/// ATen's kernels for more take longer than to record the call.
constexpr int64_t kMostElements = 1 << 12;

std::atomic<bool> detail::anyImmediate = false;
static thread_local int64_t evidence = 0;
static thread_local uint32_t calls = 0; ///< since the last look

void noteHostCalls(size_t count) {
  evidence = std::min<int64_t>(evidence + int64_t(count), kMost);
  if (evidence >= kEnough)
    detail::anyImmediate.store(true, std::memory_order_relaxed);
  noteLook();
}

void noteGraph(size_t count) {
  evidence = std::max<int64_t>(evidence - kGraphWeight * int64_t(count), 0);
}

void noteLook() { calls = 0; }

void endImmediate() { evidence = 0; }

bool detail::isImmediate(int64_t device) {
  if (evidence < kEnough)
    return false;
  if (++calls > kMostCalls) {
    endImmediate();
    return false;
  }
  evidence = std::min<int64_t>(evidence + 1, kMost);
  const Settings &now = settings();
  return now.detect_nan == "off" && !now.sync && !profile::isOn() &&
         !anyFailure.load(std::memory_order_relaxed) &&
         homeOf(device) == device && runsWithout(device);
}

/// Whether data with a buffer is ready, and the host reaches it.
static bool isThere(Buffer &buffer) {
  return buffer.waitFor(std::chrono::milliseconds(0)) && !buffer.failure() &&
         (buffer.hostPointer() || buffer.type().elements() == 0);
}

const at::Tensor &smallValues(DeviceData &data) {
  static const at::Tensor none;
  const torch::lazy::Shape &shape = data.shape();
  if (shape.numel() > size_t(kMostElements))
    return none;
  if (data.values.defined())
    return data.values;
  const BufferPtr &buffer = data.buffer();
  if (!isThere(*buffer))
    return none;
  data.values = buffer->hostPointer()
                    ? tensorOver(data, buffer)
                    : at::empty(shape.sizes(), shape.scalar_type());
  return data.values;
}

} // namespace ltc::backend
