//===- graph/sync_cause.h - Why a thread syncs ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/syncs.h"

namespace ltc::backend {

/// Whatever the thread syncs or waits for while this lives has that cause; the
/// outermost counts. Raises where a guard of the thread allows no sync.
class SyncCause {
public:
  explicit SyncCause(profile::Cause cause, std::string_view detail = {})
      : isOutermost(!syncs::isOpen()) {
    if (isOutermost)
      begin(cause, detail);
  }
  ~SyncCause() {
    if (isOutermost)
      syncs::end();
  }
  SyncCause(const SyncCause &) = delete;
  SyncCause &operator=(const SyncCause &) = delete;

private:
  friend bool beginPrint();
  static void begin(profile::Cause cause, std::string_view detail);

  const bool isOutermost;
};

/// Begins a sync that syncs::end() ends; false, and does nothing, within one.
LTC_API bool beginPrint();

} // namespace ltc::backend
