//===- cpp/api.cpp - What C++ programs call -------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/ltc.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/cpp/profile_files.h"
#include "ltc_backend/cpp/source_lines.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/startup.h"

#include <ATen/Context.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace ltc::inline v0 {

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

static void end() {
  static std::atomic<bool> hasEnded = false;
  if (hasEnded.exchange(true))
    return;
  backend::endProfileBySetting();
  backend::shutdown();
}

namespace {
struct End {
  ~End() { end(); }
};
} // namespace

/// exit() destroys the main thread's variables before any static one, of which
/// ATen's kernels make some when they first run: what is queued needs them. If
/// that thread has never called, exit() comes here as late as it may.
static void endWithProgram() {
  if (gettid() == getpid())
    static thread_local const End atItsEnd;
  [[maybe_unused]] static const int registered = std::atexit(end);
}

/// What the settings say to be watched. Nobody returns from the first
/// initialize() before it is.
static bool watch() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  backend::watchSteps();
  backend::watchLines();
  backend::beginProfileBySetting();
  return true;
}

void initialize(
    const std::vector<std::pair<std::string, std::string>> &settings) {
  for (const auto &[name, value] : settings)
    backend::raiseIfFailed(set(name, value));
  backend::initialize();
  [[maybe_unused]] static const bool isWatching = watch();
  if (!settings.empty())
    watch();
  endWithProgram();
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

void mark_dynamic(const at::Tensor &tensor, int64_t dim) {
  backend::markDim(tensor, dim, DimMark::Kind::Dynamic);
}

void mark_static(const at::Tensor &tensor, int64_t dim) {
  backend::markDim(tensor, dim, DimMark::Kind::Static);
}

/// The graphs that run call by call, those that have taken longest first.
static std::string notCompiled() {
  size_t count = 0;
  std::string text;
  for (uint32_t device = 0; device < backend::deviceCount(); ++device)
    for (const DeferredGraphs &graphs :
         backend::valueOrRaise(engineFor(device))->deferred()) {
      double share = graphs.until > 0 ? 100 * graphs.spent / graphs.until : 100;
      if (++count <= 10)
        text += "\n" + std::to_string(graphs.ops) + " ops, " +
                std::to_string(graphs.runs) + " runs call by call, at " +
                (graphs.endedBy ? sourceOf(graphs.endedBy).str()
                                : std::string("an unknown line")) +
                ": " + std::to_string(int(share)) +
                " % of the time after which a compile is worth it";
    }
  return count ? "\n" + std::to_string(count) +
                     " graphs not compiled: no structure has come often enough "
                     "for a compile to be worth its time" +
                     text
               : text;
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
  return text + notCompiled();
}

CompileGuard::CompileGuard(size_t allowed, bool loads)
    : watch(new CompileWatch(allowed, loads)) {
  watch->enter();
}

CompileGuard::~CompileGuard() = default;

size_t CompileGuard::compiled() const { return watch->records().size(); }

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

} // namespace ltc::inline v0
