//===- gpu_program.h - A loaded program of a GPU ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/steps.h"
#include "step_graph.h"

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
  /// Queues steps [first, end). Waits for what checks say before it queues what
  /// writes to donated memory, and before it returns.
  Outcome run(CUstream stream, uint32_t first, uint32_t end);

private:
  struct Module {
    CUmodule handle = nullptr;
    CUdeviceptr report = 0; ///< what a failed check writes; 0: has no checks
  };
  struct Kernel {
    CUfunction function = nullptr;
    uint32_t threads = 1;
    bool checks = false;
  };
  /// As the compiler's code writes it (docs/program-format.md).
  struct Report {
    int64_t isThere, site, index, size;
  };

  GpuProgram(Gpu &gpu, Steps steps) : gpu(gpu), steps(std::move(steps)) {}
  Outcome loadModules(const Artifact &artifact);
  Outcome findKernels(const Artifact &artifact);
  Outcome makeReports();
  Outcome makeSymbols();
  void findReads();
  bool hasCopies() const;
  Outcome queueSteps(CUstream stream, uint32_t first, uint32_t end);
  /// Steps between which the host has nothing to read.
  Outcome queueRange(CUstream stream, uint32_t first, uint32_t end);
  Outcome addStep(size_t number);
  Outcome queueRead(CUstream stream);
  Outcome awaitRead(CUstream stream);

  Gpu &gpu;
  Steps steps;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<bool> readBehind; ///< by step: the last check for a while
  Report *reports = nullptr;    ///< by module, on the host; nullptr: no checks
  CUevent isRead = nullptr;
  WorkList work; ///< of a range, while it is queued
  std::map<std::pair<uint32_t, uint32_t>, StepGraph> graphs; ///< by range
  // Where kernels find the symbols' values, if they look.
  BlockPool::Block symbols;
  CUevent isDone = nullptr; ///< the last run, which reads those
  CUstream lastStream = nullptr;
};

} // namespace ltc::cuda
