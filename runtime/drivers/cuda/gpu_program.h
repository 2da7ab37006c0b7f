//===- gpu_program.h - A loaded program of a GPU ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "checks.h"
#include "ltc/steps.h"
#include "step_graph.h"

#include <functional>
#include <map>

namespace ltc::cuda {

/// run() from one thread at a time.
class GpuProgram {
public:
  static Outcome load(Gpu &gpu, Artifact artifact,
                      std::unique_ptr<GpuProgram> &program);
  ~GpuProgram();
  GpuProgram(const GpuProgram &) = delete;

  /// What is wrong with a launch, or nothing: then it is what run() is for.
  Outcome prepare(const ltc_launch &launch,
                  std::span<const OperandMemory> memory, OperandMemory arena);
  /// Queues steps [first, end). Before it queues what writes to donated memory
  /// it waits for what checks say: those of runs before this one, by `settle`,
  /// and its own. `reading` is for the others of its own, if it has any.
  Outcome run(CUstream stream, uint32_t first, uint32_t end,
              const std::function<Outcome()> &settle, ReadingPtr &reading);

private:
  struct Module {
    CUmodule handle = nullptr;
    bool hasReport = false; ///< which a failed check writes
  };
  struct Kernel {
    CUfunction function = nullptr;
    uint32_t threads = 1;
    bool checks = false;
  };
  /// One run of some steps.
  struct Queueing {
    CUstream stream;
    const std::function<Outcome()> &settleEarlier;
    ReadingPtr &unread;          ///< a queued reading that nobody waited for
    bool hasUnreadCheck = false; ///< behind that
    bool isSettled = false;      ///< runs before this one are
    uint32_t begin;              ///< of what is not queued yet
  };

  GpuProgram(Gpu &gpu, Steps steps, GpuCalls calls)
      : gpu(gpu), steps(std::move(steps)), calls(std::move(calls)) {}
  Outcome loadModules(const Artifact &artifact);
  Outcome findKernels(const Artifact &artifact);
  Outcome makeSymbols();
  void findReads();
  bool hasCopies() const;
  Outcome queueSteps(Queueing &run, uint32_t end);
  Outcome queueUntil(Queueing &run, uint32_t end);
  /// Waits for what all checks say.
  Outcome settle(Queueing &run);
  /// Steps between which the host has nothing to read.
  Outcome queueRange(CUstream stream, uint32_t first, uint32_t end);
  Outcome addStep(size_t number);
  /// A library call that no graph can have.
  Outcome queueCallBehind(Queueing &run, uint32_t number);

  Gpu &gpu;
  Steps steps;
  GpuCalls calls;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<bool> readBehind; ///< by step: the last check before a write
  std::unique_ptr<Checks> checks = std::make_unique<Checks>(steps);
  WorkList work; ///< of a range, while it is queued
  std::map<std::pair<uint32_t, uint32_t>, StepGraph> graphs; ///< by range
  // Where kernels find the symbols' values, if they look.
  BlockPool::Block symbols;
  CUevent isDone = nullptr; ///< the last run, which reads those
  CUstream lastStream = nullptr;
};

} // namespace ltc::cuda
