//===- reads/immediate.cpp - Values for calls that run at once ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/immediate.h"

#include "ltc/profile.h"
#include "ltc/settings.h"
#include "ltc_backend/graph/reads/host_read.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/lazy_device.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// ATen's kernels for more take longer than to record the call.
constexpr int64_t kMostElements = 1 << 12;

bool detail::runsAtOnce(int64_t device) {
  const Settings &now = settings();
  return now.detect_nan == "off" && !now.sync && !profile::isOn() &&
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
  if (!data.hasBuffer())
    return data.values;
  // Also of values that are known: a launch that is repeated writes them anew.
  const BufferPtr &buffer = data.buffer();
  if (!isThere(*buffer))
    return none;
  if (data.values.defined())
    return data.values;
  data.values = buffer->hostPointer()
                    ? tensorOver(data, buffer)
                    : at::empty(shape.sizes(), shape.scalar_type());
  return data.values;
}

} // namespace ltc::backend
