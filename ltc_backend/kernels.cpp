//===- kernels.cpp - ATen's CPU kernels behind the kernel table -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels.h"

#include "kernels/aten_kernel.h"
#include "kernels/clean_thread_state.h"
#include "kernels/placement.h"
#include "parallel.h"
#include "raise.h"

#include <mutex>

namespace ltc::backend {

Result<std::unique_ptr<Kernel>> resolveKernel(const Graph &call) {
  try {
    CleanThreadState clean;
    Result<CallPlan> plan = planCall(call);
    if (!plan)
      return plan.takeError();
    return std::unique_ptr<Kernel>(new AtenKernel(std::move(*plan)));
  } catch (...) {
    return currentError(Stage::Execute,
                        call.nodes.empty() ? "" : call.nodes[0].op);
  }
}

void installHostServices() {
  static std::once_flag once;
  std::call_once(once, [] {
    installPlacement();
    setHostServices({resolveKernel, parallelFor, stayAlone, borrowThread,
                     waitingTeam, rest, threadCount});
  });
}

} // namespace ltc::backend
