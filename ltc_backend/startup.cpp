//===- startup.cpp - The device's start and end in a process --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/startup.h"

#include "ltc/engine.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc_backend/aten/kernel_provider.h"
#include "ltc_backend/device_guard.h"
#include "ltc_backend/graph/dry_run.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/collective_flush.h"
#include "ltc_backend/record/collectives/collective_watch.h"
#include "ltc_backend/register.h"
#include "ltc_backend/tensors/pending.h"
#include "ltc_backend/torch_backend.h"
#include "ltc_backend/torch_layout.h"
#include "ltc_backend/torch_spans.h"

#include <c10/util/env.h>

namespace ltc::backend {

/// Keeps in-place ops from running their Python meta kernel: 14 us each.
/// PyTorch reads the variable once in each of several generated files, at the
/// file's first in-place op, so it has to stay.
static void skipReferenceKernels() {
  c10::utils::set_env("TORCH_DISABLE_FUNCTIONALIZATION_META_REFERENCE", "1");
}

static Status start(const std::function<void()> &dropFallback) {
  try {
    if (Status status = judgeLayouts(readLayouts()); !status)
      return status;
    skipReferenceKernels();
    if (Status status = registerBackend(); !status)
      return status;
    installKernels();
    lendTorchSpans();
    numberCurrentDevice();
    registerKernels(dropFallback);
    setMetricsSource([] {
      if (!isForked()) // others may have held the locks
        addUpRecorded();
    });
    return {};
  } catch (...) {
    return currentError(Stage::Record, "");
  }
}

void initialize(const std::function<void()> &dropFallback) {
  static const auto *outcome = new Status(start(dropFallback));
  raiseIfFailed(*outcome);
}

/// An error that nobody asked for must not pass in silence, nor raise at exit.
static void warnIfFailed(const Status &status, const char *what, Stage stage) {
  if (!status)
    log(LogLevel::Warn, stage, what + status.error().str());
}

void shutdown() {
  if (isForked())
    return;
  stopFlushing();
  finishRecorded();
  stopWatching();
  warnIfFailed(
      finishCompiling(),
      "a graph of the dry run could not be compiled: ", Stage::Codegen);
  auto devices = ltc::deviceCount();
  bool hasRun =
      counter("execute.launches").get() || counter("execute.interpreted").get();
  if (hasRun && devices)
    for (uint32_t ordinal = 0; ordinal < *devices; ++ordinal)
      if (auto engine = engineFor(ordinal))
        warnIfFailed((*engine)->synchronize(),
                     "at exit, a step that nobody waited for had failed: ",
                     Stage::Execute);
  ltc::shutdown();
}

} // namespace ltc::backend
