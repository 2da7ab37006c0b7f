//===- graph/sync_cause.h - Why a thread syncs, for profiles ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"

namespace ltc::backend {

/// Whatever the thread syncs or waits for while this lives has that cause; the
/// outermost counts. Costs the load of a flag while no profile is on.
class SyncCause {
public:
  explicit SyncCause(profile::Cause cause, std::string_view detail = {}) {
    if (profile::isOn()) [[unlikely]]
      begin(cause, detail);
  }
  ~SyncCause() {
    if (isOutermost) [[unlikely]]
      profile::endSync();
  }
  SyncCause(const SyncCause &) = delete;
  SyncCause &operator=(const SyncCause &) = delete;

private:
  void begin(profile::Cause cause, std::string_view detail);

  bool isOutermost = false;
};

} // namespace ltc::backend
