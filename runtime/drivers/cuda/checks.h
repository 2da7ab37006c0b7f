//===- checks.h - What the checks in kernels say ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that finds a wrong index writes so to its module's report and goes
// on. The host has that copied in the stream's order, and looks later: before
// it queues what writes to donated memory, or when it waits for the run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cuda_api.h"
#include "ltc/steps.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace ltc::cuda {

class Checks;

/// What the checks of one run say. Any thread, in the GPU's context.
class Reading {
public:
  /// Waits until it is there; the first check that failed. Alike each time.
  Outcome settle();
  /// Whether a check failed, as far as that is known without waiting.
  bool hasFailed() const { return failed; }
  /// Whether all went well, likewise.
  bool isGood() const { return isKnown && !failed; }

private:
  friend class Checks;
  std::mutex mutex;
  Checks *checks = nullptr; ///< until it is known
  void *reports = nullptr;  ///< one for each module, in pinned memory
  CUevent isThere = nullptr;
  Outcome outcome;
  std::atomic<bool> isKnown = false, failed = false;
};
using ReadingPtr = std::shared_ptr<Reading>;

/// Of a program; all but readings from one thread at a time, in the GPU's
/// context.
class Checks {
public:
  explicit Checks(const Steps &steps) : steps(steps) {}
  ~Checks();
  Checks(const Checks &) = delete;

  /// Whether the module has a report, which is then read.
  bool addModule(CUmodule module);
  /// Before a run: forgets what an earlier one found.
  Outcome begin(CUstream stream);
  /// Behind what checks something.
  Outcome queueRead(CUstream stream, ReadingPtr &reading);

private:
  friend class Reading;
  struct Report {
    int64_t isThere, site, index, size;
  }; ///< as the compiler's code writes it (docs/program-format.md)

  Outcome whatFailed(std::span<const Report> reports) const;
  void *takeMemory();

  const Steps &steps;
  std::vector<CUdeviceptr> reports; ///< of the modules that have one
  std::vector<void *> freeMemory;   ///< for readings; guarded by the mutex
  std::mutex mutex;
  std::atomic<bool> isDirty = false;
  CUstream last = nullptr;
  std::vector<std::weak_ptr<Reading>> readings;
};

} // namespace ltc::cuda
