//===- tensors/timed_transfer.h - A copy, for a profile ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"
#include "ltc_backend/current_source.h"

namespace ltc::backend {

/// The thread copies these host bytes to the device, or from it, while it
/// lives.
class TimedTransfer {
public:
  TimedTransfer(bool isUpload, const void *data, size_t bytes)
      : isUpload(isUpload), data(data), bytes(bytes),
        start(profile::isOn() ? profile::now() : -1) {}
  ~TimedTransfer() {
    if (start >= 0) [[unlikely]]
      profile::addTransfer(start, isUpload, data, bytes, currentSource());
  }
  TimedTransfer(const TimedTransfer &) = delete;
  TimedTransfer &operator=(const TimedTransfer &) = delete;

private:
  profile::Timed timed{profile::Part::Transfer};
  const bool isUpload;
  const void *const data;
  const size_t bytes;
  const int64_t start;
};

} // namespace ltc::backend
