//===- cpp/api.cpp - What C++ programs call -------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// metrics() is the runtime's own.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/ltc.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/startup.h"

#include <ATen/Context.h>

#include <algorithm>
#include <mutex>
#include <unistd.h>

namespace ltc {

/// The device's number; starts it.
static int64_t ordinalOf(c10::Device device) {
  initialize();
  if (!device.is_lazy())
    backend::raise({ErrorCode::InvalidArgument,
                    Stage::Record,
                    "the device is " + device.str() + ", and must be lazy",
                    "",
                    {},
                    "use ltc::device(0)"});
  if (!device.has_index())
    return backend::currentDevice();
  backend::checkOrdinal(device.index());
  return device.index();
}

namespace {
struct End {
  ~End() { backend::shutdown(); }
};
} // namespace

/// exit() destroys the main thread's variables before any static one, of which
/// ATen's kernels make some when they first run: what is queued needs them.
static void endWithMainThread() {
  if (gettid() == getpid())
    static thread_local const End end;
}

void initialize(
    const std::vector<std::pair<std::string, std::string>> &settings) {
  for (const auto &[name, value] : settings)
    backend::raiseIfFailed(set(name, value));
  backend::initialize();
  endWithMainThread();
}

c10::Device device(int ordinal) {
  initialize();
  backend::checkOrdinal(ordinal);
  return {c10::kLazy, c10::DeviceIndex(ordinal)};
}

void mark_step(bool wait, c10::Device device) {
  backend::markStep(ordinalOf(device), wait);
}

void synchronize(c10::Device device) {
  backend::synchronize(ordinalOf(device));
}

std::string explain() {
  std::vector<CompileRecord> records = compileRecords();
  auto loaded =
      size_t(std::ranges::count_if(records, &CompileRecord::fromDisk));
  std::string text = std::to_string(records.size() - loaded) +
                     " graphs compiled, " + std::to_string(loaded) +
                     " loaded from disk";
  for (const CompileRecord &record : records)
    text += "\n" + record.str();
  return text;
}

void manual_seed(uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(c10::kCPU);
  std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

size_t memory_allocated(c10::Device device) {
  return backend::memory(ordinalOf(device)).allocated;
}

size_t max_memory_allocated(c10::Device device) {
  return backend::memory(ordinalOf(device)).maxAllocated;
}

size_t memory_reserved(c10::Device device) {
  return backend::memory(ordinalOf(device)).reserved;
}

void reset_peak_memory_stats(c10::Device device) {
  backend::resetPeakMemory(ordinalOf(device));
}

} // namespace ltc
