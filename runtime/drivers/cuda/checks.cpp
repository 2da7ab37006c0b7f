//===- checks.cpp - What the checks in kernels say ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "checks.h"

namespace ltc::cuda {

Outcome Reading::settle() {
  std::lock_guard lock(mutex);
  if (isKnown)
    return outcome;
  outcome = outcomeOf(api().cuEventSynchronize(isThere), "run a program");
  auto *first = static_cast<const Checks::Report *>(reports);
  if (!outcome)
    outcome = checks->whatFailed({first, checks->reports.size()});
  if (outcome)
    checks->isDirty = failed = true;
  isKnown = true;
  api().cuEventDestroy(isThere);
  std::lock_guard memory(checks->mutex);
  checks->freeMemory.push_back(reports);
  return outcome;
}

Checks::~Checks() {
  for (const std::weak_ptr<Reading> &reading : readings)
    if (ReadingPtr kept = reading.lock())
      (void)kept->settle();
  for (void *memory : freeMemory)
    api().cuMemFreeHost(memory);
}

bool Checks::addModule(CUmodule module) {
  size_t bytes = 0;
  CUdeviceptr report = 0;
  bool hasReport = api().cuModuleGetGlobal(&report, &bytes, module,
                                           "ltc_report") == CUDA_SUCCESS &&
                   bytes >= sizeof(Report);
  if (hasReport)
    reports.push_back(report);
  return hasReport;
}

Outcome Checks::begin(CUstream stream) {
  // A report is one for all streams.
  if (last && last != stream)
    for (const std::weak_ptr<Reading> &reading : readings)
      if (ReadingPtr kept = reading.lock())
        (void)kept->settle();
  last = stream;
  CUresult result = CUDA_SUCCESS;
  if (isDirty.exchange(false))
    for (size_t i = 0; i < reports.size() && result == CUDA_SUCCESS; ++i)
      result = api().cuMemsetD8Async(reports[i], 0, sizeof(Report), stream);
  return outcomeOf(result, "forget what checks said");
}

void *Checks::takeMemory() {
  std::lock_guard lock(mutex);
  if (!freeMemory.empty()) {
    void *memory = freeMemory.back();
    freeMemory.pop_back();
    return memory;
  }
  void *memory = nullptr;
  api().cuMemHostAlloc(&memory, reports.size() * sizeof(Report),
                       CU_MEMHOSTALLOC_PORTABLE);
  return memory;
}

Outcome Checks::queueRead(CUstream stream, ReadingPtr &reading) {
  auto made = std::make_shared<Reading>();
  CUresult result =
      api().cuEventCreate(&made->isThere, CU_EVENT_DISABLE_TIMING);
  made->reports = result == CUDA_SUCCESS ? takeMemory() : nullptr;
  if (result == CUDA_SUCCESS && !made->reports)
    result = CUDA_ERROR_OUT_OF_MEMORY;
  auto *to = static_cast<Report *>(made->reports);
  for (size_t i = 0; i < reports.size() && result == CUDA_SUCCESS; ++i)
    result =
        api().cuMemcpyDtoHAsync(to + i, reports[i], sizeof(Report), stream);
  if (result == CUDA_SUCCESS)
    result = api().cuEventRecord(made->isThere, stream);
  if (result != CUDA_SUCCESS) // of a lost GPU: nothing is given back
    return outcomeOf(result, "read what checks say");
  made->checks = this;
  std::erase_if(readings, [](const auto &old) { return old.expired(); });
  readings.push_back(made);
  reading = std::move(made);
  return std::nullopt;
}

Outcome Checks::whatFailed(std::span<const Report> all) const {
  const Report *first = nullptr;
  for (const Report &report : all)
    if (report.isThere && (!first || report.site < first->site))
      first = &report;
  if (!first)
    return std::nullopt;
  if (first->size < 0)
    return Fault{LTC_INVALID_ARGUMENT, steps.valueError(first->site),
                 first->site};
  return Fault{LTC_OUT_OF_RANGE,
               steps.indexError(first->site, first->index, first->size),
               first->site};
}

} // namespace ltc::cuda
