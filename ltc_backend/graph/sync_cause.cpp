//===- graph/sync_cause.cpp - Why a thread syncs --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/sync_cause.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/tape.h"

namespace ltc::backend {

void SyncCause::begin(profile::Cause cause, std::string_view detail) {
  const SourceId place = currentSource();
  if (Tape *tape = Tape::current()) [[unlikely]]
    tape->waits.push_back({cause, std::string(detail), place});
  raiseIfFailed(syncs::begin(cause, detail, place));
}

bool beginPrint() {
  if (syncs::isOpen())
    return false;
  SyncCause::begin(profile::Cause::Print, "");
  return true;
}

} // namespace ltc::backend
